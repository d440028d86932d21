/** The embedded GitHub's pages for people: reads requests, does what a visitor asks for, and answers with a page. */

import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { messageOf } from "#src/base/result.ts";
import type { IssueView } from "#src/github/sim/issue-controls.ts";
import type { EmbeddedGitHub, Pages } from "#src/github/sim/server.ts";
import { act, parseAct } from "./acts.ts";
import type { Html } from "./html.ts";
import {
  answerForm,
  type Frame,
  framed,
  listPart,
  newIssueForm,
  type Person,
  pathOf,
  problemPart,
  subjectPart,
} from "./views.ts";

export interface PageOptions {
  readonly github: EmbeddedGitHub;
  /** `owner/name` of the one repository that is shown. */
  readonly repository: string;
  /** Whom a visitor can be; the first one to begin with. */
  readonly people: readonly [Person, ...Person[]];
  /** The label that starts a run. */
  readonly label: string;
  /** What the newest run on the issue did, a line each. */
  readonly stepsOf: (issue: number) => Promise<readonly string[]>;
}

const MAX_FORM_BYTES = 256 * 1024;

/** Only this server's own script and style; no pictures, so that nobody's text makes the browser fetch anything. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const STATIC: Readonly<Record<string, { readonly type: string; readonly file: () => string }>> = {
  "/-/page.css": { type: "text/css", file: () => join(import.meta.dirname, "page.css") },
  "/-/live.js": { type: "text/javascript", file: () => join(import.meta.dirname, "live.js") },
  "/-/github-markdown.css": {
    type: "text/css",
    file: () => createRequire(import.meta.url).resolve("github-markdown-css/github-markdown.css"),
  },
};

/** What to answer with; `location` alone is a redirection. */
type Answer =
  | {
      readonly status: number;
      readonly title: string;
      readonly live: Html;
      readonly fixed: Html;
      readonly by?: string;
    }
  | { readonly location: string; readonly by?: string };

const NOTHING: Html = { html: "" };

/** Pages of one repository. A request under another name, or a form from another site, is refused. */
export function createPages(options: PageOptions): Pages {
  return async (request, response, url) => {
    const file = STATIC[url.pathname];
    if (file !== undefined) {
      const headers = { "content-type": `${file.type}; charset=utf-8`, "cache-control": "no-store" };
      response.writeHead(200, headers).end(await readFile(file.file()));
      return true;
    }
    const frame = frameOf(options, request);
    const answer =
      (await refused(options, request)) ?? (await answerTo(options, { frame, request, path: url.pathname }));
    if (answer === null) return false;
    send(response, { frame, answer, fragment: request.headers.accept === "text/fragment" });
    return true;
  };
}

interface Visit {
  readonly frame: Frame;
  readonly request: IncomingMessage;
  readonly path: string;
}

function frameOf({ repository, people }: PageOptions, { headers }: IncomingMessage): Frame {
  const login = /(?:^|;\s*)by=([\w-]+)/.exec(headers.cookie ?? "")?.[1];
  const visitor = people.find((person) => person.login === login) ?? people[0];
  return { repository, people, visitor: visitor.login };
}

/** A page that some site leads a browser to, under a name of its own or by a form of its own, must not act for the visitor. */
async function refused(
  { github }: PageOptions,
  { method, headers }: IncomingMessage,
): Promise<Answer | null> {
  const known = [github.host, github.host.replace("127.0.0.1", "localhost")];
  if (!known.includes(headers.host ?? "")) return problem(421, `This page is at ${github.url} only.`);
  if (method === "POST" && !known.some((host) => headers.origin === `http://${host}`))
    return problem(403, "This form was not sent by a page of this server.");
  return null;
}

async function answerTo(options: PageOptions, { frame, request, path }: Visit): Promise<Answer | null> {
  const home = `/${options.repository}`;
  if (request.method === "POST") return path === "/-/act" ? perform(options, frame, request) : null;
  if (path === "/" || path === home || path === `${home}/`) return { location: `${home}/issues` };
  const { github, repository } = options;
  if (path === `${home}/issues`) {
    const live = listPart(frame, "issues", github.issues(repository));
    return { status: 200, title: "Issues", live, fixed: newIssueForm(frame) };
  }
  if (path === `${home}/pulls`) {
    const live = listPart(frame, "pull requests", github.pullRequests(repository));
    return { status: 200, title: "Pull requests", live, fixed: NOTHING };
  }
  const number = path.startsWith(`${home}/`)
    ? /^(?:issues|pull)\/(\d{1,9})$/.exec(path.slice(home.length + 1))?.[1]
    : undefined;
  return number === undefined ? null : subject(options, frame, Number(number));
}

async function subject(options: PageOptions, frame: Frame, number: number): Promise<Answer> {
  const { github, repository, label } = options;
  const issue = find(options, number);
  if (issue === null) return problem(404, `There is no issue or pull request #${number}.`);
  const live = subjectPart(frame, {
    issue,
    label,
    comments: github.comments(repository, number),
    steps: await options.stepsOf(number),
    pull: issue.pull === null ? null : await changesOf(options, number, issue.pull),
  });
  return { status: 200, title: issue.title, live, fixed: answerForm(frame, issue) };
}

function find({ github, repository }: PageOptions, number: number): IssueView | null {
  const all = [...github.issues(repository), ...github.pullRequests(repository)];
  return all.find((issue) => issue.number === number) ?? null;
}

async function changesOf(
  { github, repository }: PageOptions,
  number: number,
  pull: NonNullable<IssueView["pull"]>,
) {
  const git = github.git(repository);
  const from = (await git.mergeBase(pull.baseSha, pull.headSha)) ?? pull.baseSha;
  const remarks = github
    .reviewComments(repository, number)
    .map(({ author, path, line, body }) => ({ login: author.login, path, line, body }));
  return { diff: await git.diff(from, pull.headSha), remarks };
}

async function perform(options: PageOptions, frame: Frame, request: IncomingMessage): Promise<Answer> {
  const form = await readForm(request);
  if (form === null) return problem(413, "That is too long; keep it below 256 kB.");
  const asked = parseAct(form, options.people);
  if (!asked.ok) return problem(400, asked.error);
  const number = asked.value.name === "open" ? null : asked.value.number;
  const about = number === null ? null : find(options, number);
  if (number !== null && about === null) return problem(404, `There is no issue or pull request #${number}.`);
  try {
    const done = await act(options, asked.value);
    return { location: pathOf(frame, about ?? { number: done, pull: null }), by: asked.value.by.login };
  } catch (error) {
    return problem(409, messageOf(error));
  }
}

function problem(status: number, text: string): Answer {
  return { status, title: "That did not work", live: problemPart(text), fixed: NOTHING };
}

/** Null when it is longer than the limit; the rest is read and dropped. */
async function readForm(request: IncomingMessage): Promise<URLSearchParams | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size <= MAX_FORM_BYTES) parts.push(part);
  }
  return size > MAX_FORM_BYTES ? null : new URLSearchParams(Buffer.concat(parts).toString("utf8"));
}

interface Shown {
  readonly frame: Frame;
  readonly answer: Answer;
  /** Only the changing part is wanted. */
  readonly fragment: boolean;
}

function send(response: ServerResponse, { frame, answer, fragment }: Shown): void {
  const cookie =
    answer.by === undefined ? {} : { "set-cookie": `by=${answer.by}; Path=/; HttpOnly; SameSite=Strict` };
  if ("location" in answer)
    return void response.writeHead(303, { location: answer.location, ...cookie }).end();
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    // Not "no-referrer": with it browsers hide the origin of a form, too.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    ...cookie,
  };
  const page = fragment
    ? answer.live
    : framed(frame, answer.title, { ...answer, changes: answer.status === 200 });
  response.writeHead(answer.status, headers).end(page.html);
}
