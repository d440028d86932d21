/** What a visitor of the pages can do to an issue or pull request, as one of the stage's people. */

import { err, ok, type Result } from "#src/base/result.ts";
import type { EmbeddedGitHub } from "#src/github/sim/server.ts";
import type { Person } from "./views.ts";

/** Each with whether it takes the right to write. */
const ACTS = {
  open: false,
  comment: false,
  label: true,
  unlabel: true,
  close: true,
  reopen: true,
  merge: true,
  "request-changes": true,
} as const;
type ActName = keyof typeof ACTS;

/** An issue to open, or something to do to the issue or pull request of that number. */
export type Act = { readonly by: Person; readonly text: string } & (
  | { readonly name: "open"; readonly title: string }
  | { readonly name: Exclude<ActName, "open">; readonly number: number }
);

/** Reads a form (`do`, `by`, `number`, `title`, `text`); the error is a sentence for the visitor. */
export function parseAct(form: URLSearchParams, people: readonly Person[]): Result<Act, string> {
  const name = form.get("do") ?? "";
  if (!isAct(name)) return err(`There is no action ${JSON.stringify(name)}.`);
  const by = people.find((person) => person.login === form.get("by"));
  if (by === undefined) return err(`Choose one of ${people.map(({ login }) => login).join(", ")}.`);
  if (ACTS[name] && !by.mayWrite)
    return err(`${by.login} may only read and comment here; do it as a maintainer.`);
  // Browsers send line ends of two characters.
  const text = (form.get("text") ?? "").replaceAll("\r\n", "\n");
  if (name === "open") {
    const title = (form.get("title") ?? "").trim();
    return title === "" ? err("An issue needs a title.") : ok({ name, by, title, text });
  }
  if ((name === "comment" || name === "request-changes") && text.trim() === "")
    return err("Write something first.");
  const number = form.get("number") ?? "";
  if (!/^[1-9]\d{0,8}$/.test(number)) return err("The form does not say which issue it is about.");
  return ok({ name, by, number: Number(number), text });
}

function isAct(name: string): name is ActName {
  return Object.hasOwn(ACTS, name);
}

export interface ActOn {
  readonly github: EmbeddedGitHub;
  readonly repository: string;
  readonly label: string;
}

/** Does it; returns the number of what it was done to. Rejects as the embedded GitHub does, e.g. for a merge that conflicts. */
export async function act({ github, repository, label }: ActOn, asked: Act): Promise<number> {
  const { by, text } = asked;
  if (asked.name === "open")
    return github.openIssue(repository, by.login, { title: asked.title, body: text });
  const about = [repository, asked.number, by.login] as const;
  switch (asked.name) {
    case "comment":
      github.comment(...about, text);
      break;
    case "label":
      github.label(...about, label);
      break;
    case "unlabel":
      github.unlabel(...about, label);
      break;
    case "close":
      github.closeIssue(...about);
      break;
    case "reopen":
      github.reopenIssue(...about);
      break;
    case "merge":
      await github.mergePullRequest(...about);
      break;
    case "request-changes":
      github.review(...about, { state: "changes_requested", body: text });
      break;
  }
  return asked.number;
}
