/** Takes out of an issue's text what its readers on GitHub do not see, and says what was taken out. */

export interface CleanText {
  readonly text: string;
  /** One phrase for each kind of thing removed, with its count, for the plan comment; empty: nothing was hidden. */
  readonly removed: readonly string[];
}

interface Kind {
  readonly one: string;
  readonly many: string;
  readonly pattern: RegExp;
}

/** Invisible characters, most telling kind first; each is removed without a trace. */
const CHARACTERS: readonly Kind[] = [
  { one: "tag character", many: "tag characters", pattern: /[\u{E0000}-\u{E007F}]/gu },
  {
    one: "text-direction control",
    many: "text-direction controls",
    pattern: /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u206F]/gu,
  },
  {
    // One selector after a visible character picks its emoji or text form; any other is data nobody sees.
    one: "variation selector",
    many: "variation selectors",
    pattern: /[\uFE00-\uFE0D\u{E0100}-\u{E01EF}]|(?<=^|\s|[\uFE00-\uFE0F])[\uFE0E\uFE0F]/gu,
  },
  {
    one: "zero-width or invisible character",
    many: "zero-width or invisible characters",
    pattern:
      /(?![\uFE0E\uFE0F])(?:\p{Default_Ignorable_Code_Point}|[\u115F\u1160\u3164\uFFA0\uFFF9-\uFFFB\u2800])/gu,
  },
  {
    one: "control character",
    many: "control characters",
    pattern: /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/gu,
  },
];

/** Removed everywhere, code blocks too: which block a comment lies in can be made to look different to us than to GitHub. */
const HTML_COMMENT = /<!--[\s\S]*?(?:-->|$)/g;
const COMMENT_MARK = "[HTML comment removed]";

/** What Markdown hides outside code: link definitions used as comments, declarations and processing instructions. */
const HIDDEN_DEFINITIONS: readonly RegExp[] = [
  // A label that is a sentence or `//`, whatever it points to.
  /^ {0,3}\[(?=[^\]\n]*[\s/])[^\]\n]+\]:[ \t]*\S[^\n]*$/gm,
  // Any label that points nowhere.
  /^ {0,3}\[[^\]\n]+\]:[ \t]*(?:#|<>)[^\n]*$/gm,
  // A title, which is shown only under the mouse, if at all.
  /^ {0,3}\[[^\]\n]+\]:[ \t]*\S+[ \t]+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\))[ \t]*$/gm,
];
const DECLARATION = /<[?!][^>]{0,2000}>/g;
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;

function phrase(count: number, one: string, many: string): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
}

function take(text: string, pattern: RegExp, replacement: string): { text: string; count: number } {
  let count = 0;
  const rest = text.replace(pattern, () => {
    count++;
    return replacement;
  });
  return { text: rest, count };
}

/** Applies `change` to the lines outside fenced code, as whole stretches of text. */
function outsideFences(text: string, change: (stretch: string) => string): string {
  const stretches: { fenced: boolean; lines: string[] }[] = [{ fenced: false, lines: [] }];
  let closing: string | null = null;
  for (const line of text.split("\n")) {
    const fence = FENCE.exec(line)?.[1] ?? null;
    if (closing === null && fence !== null) {
      closing = fence;
      stretches.push({ fenced: true, lines: [line] });
    } else {
      stretches.at(-1)?.lines.push(line);
      if (closing !== null && line.trim().startsWith(closing) && /^[`~\s]*$/.test(line)) {
        closing = null;
        stretches.push({ fenced: false, lines: [] });
      }
    }
  }
  return stretches
    .filter((stretch) => stretch.lines.length > 0)
    .map(({ fenced, lines }) => (fenced ? lines.join("\n") : change(lines.join("\n"))))
    .join("\n");
}

/** Line ends become `\n`; what a reader of the rendered issue cannot see is removed and counted. Linear in the text. */
export function cleanIssueText(raw: string): CleanText {
  let text = raw.toWellFormed().replace(/\r\n?|[\u2028\u2029]/g, "\n");
  const removed: string[] = [];
  for (const { one, many, pattern } of CHARACTERS) {
    const taken = take(text, pattern, "");
    text = taken.text;
    removed.push(...phrase(taken.count, one, many));
  }
  const comments = take(text, HTML_COMMENT, COMMENT_MARK);
  let hidden = 0;
  text = outsideFences(comments.text, (stretch) => {
    let rest = stretch;
    for (const pattern of [...HIDDEN_DEFINITIONS, DECLARATION]) {
      const taken = take(rest, pattern, "");
      rest = taken.text;
      hidden += taken.count;
    }
    return rest;
  });
  return {
    text,
    removed: [
      ...phrase(comments.count, "HTML comment", "HTML comments"),
      ...phrase(hidden, "hidden link definition or declaration", "hidden link definitions or declarations"),
      ...removed,
    ],
  };
}
