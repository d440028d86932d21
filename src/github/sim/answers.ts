/** The answers of the embedded GitHub and its refusals in GitHub's words. */

import type { Json } from "#src/base/canonical-json.ts";
import type { JsonObject } from "./json.ts";

export interface Answer {
  readonly status: number;
  /** Absent: no body (204). */
  readonly body?: Json;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Thrown by a route that refuses; the server answers with it. */
export class Refusal extends Error {
  readonly answer: Answer;
  constructor(answer: Answer) {
    super(`refused with ${answer.status}`);
    this.answer = answer;
  }
}

const DOCS = "https://docs.github.com/rest";

export function refuse(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  const body = { message, documentation_url: DOCS, status: String(status) };
  return new Refusal({ status, body, headers });
}

export function notFound(): Refusal {
  return refuse(404, "Not Found");
}

/** `needed` as in `contents=write; pull_requests=write`: any one of the alternatives would do. */
export function notAccessible(needed: string): Refusal {
  const headers = { "x-accepted-github-permissions": needed };
  return refuse(403, "Resource not accessible by integration", headers);
}

/** 422 with GitHub's list of errors. */
export function invalid(errors: readonly JsonObject[], message = "Validation Failed"): Refusal {
  const body = { message, errors, documentation_url: DOCS, status: "422" };
  return new Refusal({ status: 422, body });
}

/** 422 with a sentence only, as the git endpoints answer. */
export function unprocessable(message: string): Refusal {
  return refuse(422, message);
}

export function invalidField(resource: string, field: string, code = "missing_field"): Refusal {
  return invalid([{ resource, field, code }]);
}

export function ok(body: Json): Answer {
  return { status: 200, body };
}

export function created(body: Json): Answer {
  return { status: 201, body };
}

export const NO_CONTENT: Answer = { status: 204 };

const DEFAULT_PAGE = 30;
const LARGEST_PAGE = 100;

/** One page of a list and the Link header that leads to the others. */
export function paged(query: URLSearchParams, url: string, items: readonly Json[]): Answer {
  const perPage = Math.min(LARGEST_PAGE, positive(query.get("per_page")) ?? DEFAULT_PAGE);
  const page = positive(query.get("page")) ?? 1;
  const last = Math.max(1, Math.ceil(items.length / perPage));
  const linkTo = (target: number, rel: string) => {
    const next = new URLSearchParams(query);
    next.set("page", String(target));
    return `<${url}?${next}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [linkTo(page - 1, "prev")] : []),
    ...(page < last ? [linkTo(page + 1, "next"), linkTo(last, "last")] : []),
    ...(page > 1 ? [linkTo(1, "first")] : []),
  ];
  return {
    status: 200,
    body: items.slice((page - 1) * perPage, page * perPage),
    headers: links.length === 0 ? {} : { link: links.join(", ") },
  };
}

function positive(text: string | null): number | null {
  const value = Number(text);
  return text !== null && Number.isInteger(value) && value > 0 ? value : null;
}
