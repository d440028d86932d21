/** Judges a posted body by what a Markdown renderer with GitHub's extensions makes of it: what in it would be live. */

import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";

export interface Judged {
  readonly html: string;
  /** Names of all elements outside code, with their attributes, in order. */
  readonly elements: readonly string[];
  /** Comments, without their marks. */
  readonly comments: readonly string[];
  /** The text outside code, entities decoded: where GitHub looks for mentions and references. */
  readonly text: string;
  /** Texts of the headings. */
  readonly headings: readonly string[];
  /** Elements that were opened and not closed, or closed and not open. */
  readonly unbalanced: readonly string[];
}

const VOID = new Set(["br", "hr", "img", "input"]);

export function judge(body: string): Judged {
  const html = micromark(body, {
    allowDangerousHtml: true,
    allowDangerousProtocol: true,
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
  });
  return read(html);
}

function read(html: string): Judged {
  const elements: string[] = [];
  const comments: string[] = [];
  const unbalanced: string[] = [];
  const headings: string[] = [];
  const open: string[] = [];
  let text = "";
  const inCode = () => open.includes("code") || open.includes("pre");
  for (const [token] of html.matchAll(/<!--[\s\S]*?-->|<\/?[a-z][^>]*>|[^<]+|</gi)) {
    if (token.startsWith("<!--")) comments.push(token.slice(4, -3).trim());
    else if (/^<\/?[a-z]/i.test(token)) {
      const name = /^<\/?([a-z0-9-]+)/i.exec(token)?.[1]?.toLowerCase() ?? "";
      if (token.startsWith("</")) {
        if (open.at(-1) === name) open.pop();
        else unbalanced.push(token);
      } else {
        if (!inCode()) elements.push(token);
        if (!VOID.has(name)) open.push(name);
        if (/^h[1-6]$/.test(name)) headings.push("");
        // What ends at a link is no mention with what the link says.
        if (name === "a") text += "\u241f";
      }
    } else if (!inCode()) {
      const plain = decode(token);
      text += plain;
      if (open.some((name) => /^h[1-6]$/.test(name))) headings.push((headings.pop() ?? "") + plain);
    } else text += "\u241f";
  }
  return { html, elements, comments, text, headings, unbalanced: [...unbalanced, ...open] };
}

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' };

function decode(text: string): string {
  return text.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => NAMED[name] ?? "");
}

/** Names of the elements that need no attribute and harm nobody. */
const PLAIN =
  /^<(?:p|em|strong|code|pre|ul|ol|li|table|thead|tbody|tr|th|td|blockquote|br|hr|h[1-6]|details|summary|del)(?: \/)?>$|^<(?:th|td) align="(?:left|right|center)">$|^<ol start="\d+">$|^<input type="checkbox" disabled="" (?:checked="" )?\/>$/;

/** One line for each thing in a body that would reach somebody, link somewhere, close something or is HTML of others. */
export function liveParts(
  body: string,
  allowed: { readonly references?: readonly string[] } = {},
): readonly string[] {
  const seen = judge(body);
  const references = new Set(allowed.references ?? []);
  const text = seen.text;
  return [
    ...seen.elements.filter((element) => !PLAIN.test(element)).map((element) => `element ${element}`),
    ...matches(text, /(?<![\w`])@[a-z0-9][\w/-]*/gi).map((found) => `mention ${found}`),
    ...matches(text, /(?:[\w.-]+\/[\w.-]+)?#\d+|\bGH-\d+/gi)
      .filter((found) => !references.has(found))
      .map((found) => `reference ${found}`),
    ...matches(text, /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)[\s:]+(?:\S*#\d|\S*\/issues\/\d|GH-\d)/gi)
      .filter((found) => ![...references].some((reference) => `Fixes ${reference}`.startsWith(found)))
      .map((found) => `closing ${found}`),
    ...matches(text, /\b(?:https?|ftp):\/\/\S+|\bwww\.\S+/gi).map((found) => `address ${found}`),
    ...matches(text, /&(?:#\d+|#x[0-9a-f]+|[a-z]+);/gi).map((found) => `entity ${found}`),
    ...seen.unbalanced.map((element) => `unbalanced ${element}`),
  ];
}

function matches(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map((match) => match[0]);
}
