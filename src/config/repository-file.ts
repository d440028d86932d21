/** Reads `.github/agent-fix.yml` and merges it with what the operator allows; a repository can only tighten. */

import { LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { REPOSITORY_FILE, type RepositoryFile } from "./repository-schema.ts";

export const REPOSITORY_FILE_PATH = ".github/agent-fix.yml";

/** A settings file larger than this is none. */
const MAX_CHARACTERS = 32_768;
/** A reader needs the first mistakes, not hundreds that follow from one. */
const MAX_YAML_ERRORS = 3;
const TOO_DEEP = "not YAML that can be read: it is nested too deeply";
/** Brackets inside brackets, counting those in texts. */
const MAX_DEPTH = 100;
const COMPACT_NESTING = /^\s*(?:[-?] +){40}/m;
/** What YAML forbids outside of escapes. */
const CONTROL_CHARACTERS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** What the operator allows, from the configuration. */
export interface OperatorLimits {
  readonly model: string;
  readonly modelsAllowed: readonly string[];
  readonly imagesAllowed: readonly string[];
  readonly networkAllow: readonly string[];
  readonly protectedExcept: readonly string[];
  readonly budgetUsd: number;
  readonly maxTurns: number;
  readonly maxMinutes: number;
}

/** What holds for a run in this repository. Plain JSON, so that a step can store it. */
export interface RepositorySettings {
  readonly setup: string | null;
  readonly test: string | null;
  readonly checks: {
    readonly lint: string | null;
    readonly format: string | null;
    readonly typecheck: string | null;
  };
  readonly workingDirectory: string | null;
  readonly targetBranch: string | null;
  readonly instructions: string | null;
  readonly image: string | null;
  readonly model: string;
  readonly networkAllow: readonly string[];
  /** Globs the repository adds to the default ones, and globs the operator takes out of the default ones. */
  readonly protectedPaths: { readonly added: readonly string[]; readonly except: readonly string[] };
  /** Lower-case logins and `org/team`; null: everyone with write access. */
  readonly approvers: readonly string[] | null;
  /** The least permission of those who approve. */
  readonly approverPermission: "write" | "maintain" | "admin";
  readonly budget: { readonly usd: number; readonly turns: number; readonly minutes: number };
  readonly gates: readonly ("intent" | "change")[];
  /** Sentences for the plan and the log: keys without effect, and wishes the operator does not allow. */
  readonly notes: readonly string[];
}

export interface ParsedRepositoryFile {
  readonly file: RepositoryFile;
  /** One sentence for each key that is no setting. */
  readonly notes: readonly string[];
}

/** The whole way from the file's text (null: there is no such file) to what holds; the error lists every bad value. */
export function readRepositorySettings(
  operator: OperatorLimits,
  text: string | null,
): Result<RepositorySettings, readonly string[]> {
  const parsed = parseRepositoryFile(text ?? "");
  if (!parsed.ok) return parsed;
  const merged = mergeRepositoryFile(operator, parsed.value.file);
  return ok({ ...merged, notes: [...parsed.value.notes, ...merged.notes] });
}

/** Bad values are errors, all at once, with their lines; keys we do not know have no effect and are named in `notes`. */
export function parseRepositoryFile(text: string): Result<ParsedRepositoryFile, readonly string[]> {
  if (text.length > MAX_CHARACTERS) {
    return err([`the file has ${text.length} characters; at most ${MAX_CHARACTERS} are read, so shorten it`]);
  }
  if (CONTROL_CHARACTERS.test(text))
    return err(["the file holds control characters; save it as plain text (UTF-8)"]);
  if (isTooDeep(text)) return err([TOO_DEEP]);
  const yaml = readYaml(text);
  if (!yaml.ok) return yaml;
  const { value, lineOf } = yaml.value;
  const read = REPOSITORY_FILE.safeParse(value ?? {});
  if (!read.success) {
    return err(read.error.issues.map((issue) => `${place(issue.path, lineOf)}${issue.message}`));
  }
  const notes = unknownKeys(value).map(
    (path) =>
      `${place(path, lineOf)}no setting of this file; it has no effect (see docs/configuration.md for the keys)`,
  );
  return ok({ file: read.data, notes });
}

/** Pure: no wish of the file widens what the operator allows. */
export function mergeRepositoryFile(operator: OperatorLimits, file: RepositoryFile): RepositorySettings {
  const notes: string[] = [];
  const wish = (key: string, value: string | null | undefined, allowed: readonly string[], used: string) => {
    if (value === null || value === undefined || allowed.includes(value)) return value ?? null;
    notes.push(
      `${key}: ${quote(value)} is not among what the operator allows (${allowed.join(", ") || "none"}); ${used}`,
    );
    return null;
  };
  const model = wish(
    "model",
    file.model,
    [operator.model, ...operator.modelsAllowed],
    `${operator.model} is used`,
  );
  const image = wish("image", file.image, operator.imagesAllowed, "the usual one is used (IMAGES_ALLOWED)");
  const hosts = file.network?.allow ?? operator.networkAllow;
  const networkAllow = hosts.filter(
    (host) => wish("network.allow", host, operator.networkAllow, "it stays closed") !== null,
  );
  return {
    setup: file.setup ?? null,
    test: file.test ?? null,
    checks: {
      lint: file.checks?.lint ?? null,
      format: file.checks?.format ?? null,
      typecheck: file.checks?.typecheck ?? null,
    },
    workingDirectory: file.working_directory ?? null,
    targetBranch: file.target_branch ?? null,
    instructions: file.instructions ?? null,
    image,
    model: model ?? operator.model,
    networkAllow: [...new Set(networkAllow)],
    protectedPaths: { added: [...new Set(file.protected ?? [])], except: operator.protectedExcept },
    approvers: file.approvers ?? null,
    approverPermission: file.approver_permission ?? "write",
    budget: {
      usd: Math.min(operator.budgetUsd, file.budget?.usd ?? Number.POSITIVE_INFINITY),
      turns: Math.min(operator.maxTurns, file.budget?.turns ?? Number.POSITIVE_INFINITY),
      minutes: Math.min(operator.maxMinutes, file.budget?.minutes ?? Number.POSITIVE_INFINITY),
    },
    gates: file.gates?.includes("intent") === true ? ["intent", "change"] : ["change"],
    notes,
  };
}

type LineOf = (path: readonly PropertyKey[]) => number | null;

function readYaml(text: string): Result<{ value: unknown; lineOf: LineOf }, readonly string[]> {
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: true, version: "1.2" });
    const broken = [...document.errors, ...document.warnings];
    if (broken.length > 0) return err(broken.slice(0, MAX_YAML_ERRORS).map((one) => notYaml(one.message)));
    // No alias is needed in a file of settings, and a handful of them can grow without bound.
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    const lineOf: LineOf = (path) => {
      const node = document.getIn(path, true) as { range?: readonly number[] | null } | undefined;
      const start = node?.range?.[0];
      return start === undefined ? null : lines.linePos(start).line;
    };
    return ok({ value, lineOf });
  } catch (error) {
    // Too deep a nesting overflows the reader's stack, and an alias is refused with an exception.
    return err([notYaml(messageOf(error))]);
  }
}

/** Paths of the keys the schema does not have, at any depth of its maps. */
function unknownKeys(value: unknown): readonly string[][] {
  const visit = (data: unknown, schema: z.ZodType, path: readonly string[]): string[][] => {
    const inner = unwrap(schema);
    if (!(inner instanceof z.ZodObject) || typeof data !== "object" || data === null) return [];
    return Object.entries(data).flatMap(([key, member]) => {
      const known = Object.hasOwn(inner.shape, key) ? (inner.shape[key] as z.ZodType) : null;
      return known === null ? [[...path, key]] : visit(member, known, [...path, key]);
    });
  };
  return visit(value, REPOSITORY_FILE, []);
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return unwrap(schema.unwrap() as z.ZodType);
  return schema;
}

function place(path: readonly PropertyKey[], lineOf: LineOf): string {
  const line = lineOf(path);
  const name = path.length === 0 ? "the file" : quote(path.map(String).join("."));
  return `${line === null ? "" : `line ${line}: `}${name} `.replace(/ $/, path.length === 0 ? " " : ": ");
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}

/** The YAML reader takes seconds to find this out by itself. Block nesting is bounded by the file's size, except in one line. */
function isTooDeep(text: string): boolean {
  if (COMPACT_NESTING.test(text)) return true;
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth = Math.max(0, depth + (bracket === "[" || bracket === "{" ? 1 : -1));
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function notYaml(message: string): string {
  if (/call stack|stack overflow/i.test(message)) return TOO_DEEP;
  if (/alias/i.test(message)) return "not YAML that can be read: aliases are not taken; write the value out";
  return `not YAML that can be read: ${(message.split("\n")[0] ?? "").replace(/:$/, "")}`;
}
