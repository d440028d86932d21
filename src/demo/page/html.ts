/** HTML as a value: a template whose holes are escaped unless they are HTML themselves. */

import { escapeHtml } from "#src/app/setup-pages.ts";

/** Text that is already HTML. */
export interface Html {
  readonly html: string;
}

/** What may stand in a hole: text is escaped, HTML is not, a list is put together, null and false leave nothing. */
export type Hole = string | number | Html | null | false | readonly Hole[];

export function html(strings: TemplateStringsArray, ...holes: readonly Hole[]): Html {
  return {
    html: strings.map((text, at) => text + (at < holes.length ? fill(holes[at] ?? null) : "")).join(""),
  };
}

function fill(hole: Hole): string {
  if (hole === null || hole === false) return "";
  if (typeof hole === "string" || typeof hole === "number") return escapeHtml(String(hole));
  return isList(hole) ? hole.map(fill).join("") : hole.html;
}

function isList(hole: Html | readonly Hole[]): hole is readonly Hole[] {
  return Array.isArray(hole);
}
