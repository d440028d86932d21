/** Turns what git and the file system say when they fail into the port's failures, with secrets removed. */

import type { Redactor } from "#src/base/redact.ts";
import { messageOf } from "#src/base/result.ts";
import type { GitFailure } from "./workspace.ts";

/** Room for git's own explanation in a message for people. */
const MAX_DETAIL = 600;

interface Rule {
  readonly pattern: RegExp;
  readonly code: GitFailure["code"];
  readonly advice: string;
}

/** First match wins: git prints the cause before its consequences, but the consequences match looser rules. */
const RULES: readonly Rule[] = [
  {
    pattern: /No space left on device|Disk quota exceeded|\bENOSPC\b|\bEDQUOT\b/,
    code: "disk_full",
    advice: "The disk that holds DATA_DIR is full: free some space, then try again.",
  },
  {
    pattern: /more than \d+ bytes of output/,
    code: "git_failed",
    advice: "The change or the repository is too large for one run: keep generated files out of it.",
  },
  {
    pattern: /could not read (Username|Password)|terminal prompts disabled|Authentication failed|error: 401/,
    code: "denied",
    advice: "GitHub refused the app's token: check that the app is still installed on this repository.",
  },
  {
    pattern: /error: 403/,
    code: "denied",
    advice:
      "GitHub denied access: the installation needs the permission `contents: read` on this repository.",
  },
  {
    pattern: /error: 30[12378]|unable to update url base from redirection/,
    code: "refused_url",
    advice:
      "The address redirects, and redirects are not followed because they would carry the token along: use the repository's present address.",
  },
  {
    pattern:
      /error: 404|repository '.*' not found|Repository not found|does not appear to be a git repository/,
    code: "not_found",
    advice: "The repository was not found: it may be deleted, renamed, or outside the installation.",
  },
  {
    pattern: /couldn't find remote ref|not our ref/,
    code: "not_found",
    advice: "The branch or commit does not exist in the repository.",
  },
  {
    pattern:
      /Could not resolve|Failed to connect|Couldn't connect|Connection (refused|reset|timed out)|error: 5\d\d|error: 429|RPC failed|early EOF|unexpected disconnect|hung up|Operation too slow|SSL|timed out|Empty reply|Recv failure/,
    code: "unreachable",
    advice: "GitHub could not be reached or broke off: try again, and check the network and proxy settings.",
  },
];

const FALLBACK: Omit<Rule, "pattern"> = {
  code: "git_failed",
  advice: "Run `agent-fix doctor` on the server to check its git.",
};

/** A failure with the fact that a fresh token might help: a 401, not a 403. */
export interface HostGitFailure extends GitFailure {
  readonly tokenRefused: boolean;
}

function firstLines(text: string): string {
  const lines = text
    .split(/[\r\n]+/)
    .map((line) => line.replace(/^(fatal|error|warning|remote): /, "").trim())
    .filter((line) => line !== "");
  const joined = lines.slice(0, 4).join("; ");
  return joined.length > MAX_DETAIL ? `${joined.slice(0, MAX_DETAIL)}…` : joined;
}

/** What `command` (e.g. `git fetch`) meant by its error text. */
export function classify(command: string, text: string, redactor: Redactor): HostGitFailure {
  const { code, advice } = RULES.find((candidate) => candidate.pattern.test(text)) ?? FALLBACK;
  const detail = redactor.redact(firstLines(text));
  return {
    code,
    message: `${command} failed: ${detail === "" ? "no reason given" : detail}. ${advice}`,
    tokenRefused: code === "denied" && !/error: 403/.test(text),
  };
}

/** A failure of the file system or of another thrown kind while doing `what`. */
export function thrownFailure(what: string, error: unknown, redactor: Redactor): GitFailure {
  const { code, message } = classify(what, messageOf(error), redactor);
  const known = code === "disk_full" ? code : "git_failed";
  return { code: known, message };
}
