/** Chooses the image that a repository's commands run in: what the repository asks for, or what suits its stack, out of the operator's list. Pure. */

import { err, ok, type Result } from "#src/base/result.ts";
import type { ImageWish } from "#src/sandbox/sandbox.ts";

export interface ChosenImage {
  readonly image: string;
  readonly from: "repository file" | "devcontainer.json" | "stack" | "general";
  /** Sentences for the plan: wishes that could not be met. */
  readonly notes: readonly string[];
}

/** Names, without registry and tag, of images that are made for a stack. */
const MADE_FOR: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    javascript: ["node", "javascript-node", "typescript-node", "bun", "deno"],
    python: ["python", "uv"],
    rust: ["rust"],
    go: ["golang", "go"],
    java: ["maven", "gradle", "eclipse-temurin", "openjdk", "amazoncorretto", "java"],
    ruby: ["ruby"],
    php: ["php", "composer"],
    dotnet: ["sdk", "dotnet"],
    elixir: ["elixir"],
    perl: ["perl"],
    c: ["gcc", "cpp", "clang"],
  }),
);

/**
 * `allowed`: the operator's IMAGES_ALLOWED; the first is the general one. A wish that is not allowed is an error only in the
 * repository's own file for this app; elsewhere it is noted and passed over.
 */
export function chooseImage(wishes: ImageWish, allowed: readonly string[]): Result<ChosenImage, string> {
  const [general] = allowed;
  if (general === undefined)
    return err("no image is allowed: an operator lists images in IMAGES_ALLOWED, the general one first");
  if (wishes.asked !== null) {
    const refusal = refusedImage(wishes.asked, allowed);
    if (refusal !== null) return err(refusal);
    return ok({ image: wishes.asked, from: "repository file", notes: [] });
  }
  const notes: string[] = [];
  const wish = wishes.devcontainer === null ? null : devcontainerImage(wishes.devcontainer);
  if (wish !== null) {
    const refusal = refusedImage(wish, allowed);
    if (refusal === null) return ok({ image: wish, from: "devcontainer.json", notes });
    notes.push(`devcontainer.json: ${refusal}`);
  }
  const names = wishes.stack === null ? [] : (MADE_FOR.get(wishes.stack) ?? []);
  const suited = allowed.find((image) => names.includes(bareName(image)));
  if (suited !== undefined) return ok({ image: suited, from: "stack", notes });
  return ok({ image: general, from: "general", notes });
}

/** Null when the operator allows it. Images count as written: a tag that was not listed is another image. */
export function refusedImage(image: string, allowed: readonly string[]): string | null {
  if (allowed.includes(image)) return null;
  return `the image ${JSON.stringify(image.slice(0, 120))} is not among those an operator allows in IMAGES_ALLOWED (${allowed.join(", ") || "none"})`;
}

/** `registry:5000/team/node:22@sha256:…` is `node`. */
function bareName(image: string): string {
  const path = image.split("@")[0] ?? "";
  const last = path.split("/").at(-1) ?? "";
  return (last.split(":")[0] ?? "").toLowerCase();
}

/** The `image` of a devcontainer.json (JSON with comments and final commas); null when it names none or cannot be read. */
export function devcontainerImage(text: string): string | null {
  try {
    const read: unknown = JSON.parse(plainJson(text));
    if (typeof read !== "object" || read === null || !("image" in read)) return null;
    return typeof read.image === "string" && read.image !== "" ? read.image : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Takes comments and final commas out, and leaves texts as they are. */
function plainJson(text: string): string {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (part) =>
    part.startsWith("/") ? " " : part,
  );
  return bare
    .replace(/^\uFEFF/, "")
    .replace(/"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === "," ? "" : part));
}
