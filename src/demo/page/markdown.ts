/** Markdown as GitHub shows it in a comment: CommonMark with GitHub's extensions, of HTML only what GitHub lets through. */

import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import sanitizeHtml from "sanitize-html";
import type { Html } from "./html.ts";

/** After GitHub's description of what its pipeline keeps (github/markup, "GitHub Markup", step 2). */
const ALLOWED: sanitizeHtml.IOptions = {
  allowedTags: [
    ...[
      "h1",
      "h2",
      "h3",
      "h4",
      "h5",
      "h6",
      "br",
      "b",
      "i",
      "strong",
      "em",
      "a",
      "pre",
      "code",
      "img",
      "tt",
      "div",
    ],
    ...[
      "ins",
      "del",
      "sup",
      "sub",
      "p",
      "ol",
      "ul",
      "table",
      "thead",
      "tbody",
      "tfoot",
      "blockquote",
      "dl",
      "dt",
    ],
    ...[
      "dd",
      "kbd",
      "q",
      "samp",
      "var",
      "hr",
      "li",
      "tr",
      "td",
      "th",
      "s",
      "strike",
      "summary",
      "details",
      "input",
    ],
    ...["caption", "figure", "figcaption", "abbr", "cite", "dfn", "mark", "small", "span", "time", "wbr"],
  ],
  allowedAttributes: {
    a: ["href", "title"],
    img: ["src", "alt", "title"],
    input: ["type", "checked", "disabled"],
    td: ["align"],
    th: ["align"],
    details: ["open"],
    ol: ["start"],
    code: ["class"],
  },
  allowedClasses: { code: ["language-*"] },
  allowedSchemes: ["http", "https", "mailto"],
  // The task lists of GitHub's extension, and no other control.
  exclusiveFilter: ({ tag, attribs }) => tag === "input" && attribs.type !== "checkbox",
};

/** Elements whose text holds no references. */
const LITERAL = new Set(["a", "code", "pre"]);

/**
 * `body` may be anything; what comes back holds no script, no style, no form and no element that is not GitHub's.
 * `#12` leads to that issue or pull request of `repository` (`owner/name`).
 */
export function renderMarkdown(body: string, repository: string): Html {
  const rendered = micromark(body, {
    allowDangerousHtml: true,
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
  });
  const clean = sanitizeHtml(withLineBreaks(rendered), {
    ...ALLOWED,
    textFilter: (text, tag) =>
      LITERAL.has(tag)
        ? text
        : text.replaceAll(/(?<![\w&/])#(\d{1,9})\b/g, `<a href="/${repository}/issues/$1">#$1</a>`),
  });
  return { html: withAlerts(clean) };
}

/** In comments, unlike in files, GitHub breaks the line where its author did. */
function withLineBreaks(rendered: string): string {
  return rendered.replaceAll(/<p>[\s\S]*?<\/p>/g, (paragraph) =>
    paragraph.replaceAll(/(?<!<br \/>)\n/g, "<br />\n"),
  );
}

/** A quotation that begins with one of GitHub's five marks is an alert. */
function withAlerts(clean: string): string {
  return clean.replaceAll(
    /<blockquote>\s*<p>\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\](?:<br \/>)?/g,
    (_, kind: string) => {
      const name = kind[0] + kind.slice(1).toLowerCase();
      return `<blockquote class="markdown-alert markdown-alert-${kind.toLowerCase()}"><p class="markdown-alert-title">${name}</p><p>`;
    },
  );
}
