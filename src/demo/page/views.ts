/** The pages as HTML, by pure functions: lists of issues and pull requests, and one of them with everything said on it. */

import type { CommentView, IssueView } from "#src/github/sim/issue-controls.ts";
import { type Html, html } from "./html.ts";
import { renderMarkdown } from "./markdown.ts";

/** Somebody the visitor can be. */
export interface Person {
  readonly login: string;
  /** May set labels, close, merge and review; else only comment, and close what is theirs. */
  readonly mayWrite: boolean;
}

export interface Frame {
  /** `owner/name` */
  readonly repository: string;
  readonly people: readonly Person[];
  /** Login of whom the visitor was last. */
  readonly visitor: string;
}

export interface Subject {
  readonly issue: IssueView;
  readonly comments: readonly CommentView[];
  /** What the newest run did, a line each, oldest first. */
  readonly steps: readonly string[];
  readonly pull: { readonly diff: string; readonly remarks: readonly Remark[] } | null;
  /** The label that starts a run. */
  readonly label: string;
}

/** A review comment on a line. */
export interface Remark {
  readonly login: string;
  readonly path: string;
  readonly line: number;
  readonly body: string;
}

const EMOJI: Readonly<Record<string, string>> = {
  "+1": "👍",
  "-1": "👎",
  laugh: "😄",
  hooray: "🎉",
  confused: "😕",
  heart: "❤️",
  rocket: "🚀",
  eyes: "👀",
};

const SCRIPT: Html = { html: '<script src="/-/live.js" defer></script>' };

/** A whole page around its changing part; `changes`: it is looked at again and again. */
export function framed(
  frame: Frame,
  title: string,
  parts: { readonly live: Html; readonly fixed: Html; readonly changes: boolean },
): Html {
  const home = `/${frame.repository}`;
  return html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · ${frame.repository}</title><link rel="stylesheet" href="/-/github-markdown.css"><link rel="stylesheet" href="/-/page.css">${parts.changes ? SCRIPT : null}</head><body><p id="notice" hidden>The demo has ended; this page no longer changes.</p><header><strong>${frame.repository}</strong><nav><a href="${home}/issues">Issues</a> · <a href="${home}/pulls">Pull requests</a></nav><p>An embedded GitHub on this machine, with the real app at work; nothing leaves it.</p></header><main><div id="live">${parts.live}</div>${parts.fixed}</main></body></html>`;
}

export function listPart(frame: Frame, kind: "issues" | "pull requests", found: readonly IssueView[]): Html {
  const rows = found.map(
    (one) =>
      html`<div class="row">${stateBadge(one)} <a href="${pathOf(frame, one)}"><strong>${one.title}</strong></a> ${labels(one)}<div class="dim">#${one.number} by ${one.login}</div></div>`,
  );
  const none = html`<div class="row dim">There are no ${kind} yet.</div>`;
  return html`<h1>${kind === "issues" ? "Issues" : "Pull requests"}</h1><div class="box">${rows.length === 0 ? none : rows}</div>`;
}

export function newIssueForm(frame: Frame): Html {
  return html`<details><summary>Open another issue</summary><form method="post" action="/-/act"><input type="hidden" name="do" value="open"><p><input name="title" aria-label="Title" placeholder="Title" size="60" required></p><textarea name="text" aria-label="Text"></textarea><p>${asPerson(frame)} <button class="main">Open the issue</button></p></form></details>`;
}

/** Everything on one issue or pull request that changes by itself. */
export function subjectPart(frame: Frame, subject: Subject): Html {
  const { issue, comments, steps, pull } = subject;
  const opening: CommentView = {
    id: 0,
    login: issue.login,
    body: issue.body ?? "",
    reactions: issue.reactions,
  };
  const work =
    steps.length === 0
      ? null
      : html`<details class="box" open><summary class="head">What the app does (from the run's trace)</summary><ol class="steps">${steps.map((step) => html`<li>${step}</li>`)}</ol></details>`;
  return html`<h1>${issue.title} <span class="dim">#${issue.number}</span></h1><p>${stateBadge(issue)} ${branches(issue)} ${labels(issue)}</p>${controls(frame, subject)}${work}${said(frame, opening)}${pull === null ? null : changes(frame, pull)}${comments.map((comment) => said(frame, comment))}`;
}

/** The form for an answer; it stays as it is while the rest changes. */
export function answerForm(frame: Frame, issue: IssueView): Html {
  const review =
    issue.pull === null ? null : html` <button name="do" value="request-changes">Request changes</button>`;
  const hint =
    issue.pull === null
      ? "/approve, /revise <text>, /cancel, /status, /help"
      : "/revise <text>, /approve, /cancel";
  return html`<form method="post" action="/-/act"><input type="hidden" name="number" value="${issue.number}"><textarea name="text" aria-label="Your comment" placeholder="${hint}"></textarea><p>${asPerson(frame)} <button class="main" name="do" value="comment">Comment</button>${review}</p></form>`;
}

export function problemPart(problem: string): Html {
  return html`<h1>That did not work</h1><p role="alert">${problem}</p>`;
}

export function pathOf(frame: Pick<Frame, "repository">, issue: Pick<IssueView, "number" | "pull">): string {
  return `/${frame.repository}/${issue.pull === null ? "issues" : "pull"}/${issue.number}`;
}

function asPerson({ people, visitor }: Frame): Html {
  const options = people.map(
    ({ login, mayWrite }) =>
      html`<option value="${login}"${login === visitor ? { html: " selected" } : null}>${login} (${mayWrite ? "maintainer" : "may only read"})</option>`,
  );
  return html`<label>as <select name="by">${options}</select></label>`;
}

/** What a maintainer can do besides writing. */
function controls(frame: Frame, { issue, label }: Subject): Html {
  const writer = frame.people.find((person) => person.mayWrite)?.login ?? frame.visitor;
  const button = (what: string, text: string) =>
    html`<form class="inline" method="post" action="/-/act"><input type="hidden" name="number" value="${issue.number}"><input type="hidden" name="by" value="${writer}"><button name="do" value="${what}">${text}</button></form> `;
  const labelled = issue.labels.includes(label);
  const own =
    issue.pull === null &&
    button(labelled ? "unlabel" : "label", `${labelled ? "Remove" : "Set"} the label ${label}`);
  const merge = issue.pull !== null && issue.state === "open" && button("merge", "Merge");
  const merged = issue.pull?.merged === true;
  const close =
    !merged &&
    button(issue.state === "open" ? "close" : "reopen", issue.state === "open" ? "Close" : "Reopen");
  return html`<div>${own}${merge}${close}<span class="dim">as ${writer}</span></div>`;
}

function stateBadge({ state, pull }: IssueView): Html {
  const shown = pull?.merged === true ? "merged" : state;
  const draft = pull?.draft === true && state === "open" ? "draft, " : "";
  return html`<span class="state ${shown}">${draft}${shown}</span>`;
}

function branches({ pull, login }: IssueView): Html | null {
  return pull === null
    ? null
    : html`<span class="dim">${login} wants to merge <code>${pull.head}</code> into <code>${pull.base}</code></span>`;
}

function labels({ labels: names }: IssueView): Html {
  return html`${names.map((name) => html`<span class="label">${name}</span>`)}`;
}

function said(frame: Frame, comment: CommentView): Html {
  const reactions = comment.reactions.map(
    (name) => html`<span title="${name}">${EMOJI[name] ?? name}</span>`,
  );
  const body = html`<div class="markdown-body">${renderMarkdown(comment.body, frame.repository)}</div>`;
  const shown = comment.minimized
    ? html`<details><summary class="row dim">This comment was marked as outdated.</summary>${body}</details>`
    : body;
  return html`<article class="box" data-comment="${comment.id}"><div class="head"><strong>${comment.login}</strong></div>${shown}${reactions.length === 0 ? null : html`<div class="reactions">${reactions}</div>`}</article>`;
}

function changes(frame: Frame, { diff, remarks }: NonNullable<Subject["pull"]>): Html {
  const notes = remarks.map(
    (one) =>
      html`<article class="box"><div class="head"><strong>${one.login}</strong> on <code>${one.path}:${one.line}</code></div><div class="markdown-body">${renderMarkdown(one.body, frame.repository)}</div></article>`,
  );
  return html`<details class="box" open><summary class="head">Files changed</summary><pre class="diff">${diff.trimEnd().split("\n").map(diffLine)}</pre></details>${notes}`;
}

function diffLine(line: string): Html {
  const kind = /^(?:diff |index |---|\+\+\+|@@|new file|deleted file)/.test(line)
    ? "at"
    : ({ "+": "add", "-": "del" }[line[0] ?? ""] ?? "");
  return html`<span class="${kind}">${line}</span>\n`;
}
