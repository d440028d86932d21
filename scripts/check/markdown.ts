/** What the documentation check looks at in a Markdown file: its links, headings and code. */

export interface Link {
  /** As written, without a title. */
  readonly target: string;
  readonly line: number;
}

export interface CodeText {
  readonly text: string;
  readonly line: number;
}

export interface Page {
  readonly links: readonly Link[];
  /** GitHub's anchor of each heading. */
  readonly anchors: ReadonlySet<string>;
  /** Inline code and the lines of fenced blocks. */
  readonly code: readonly CodeText[];
}

const FENCE = /^\s{0,3}(`{3,}|~{3,})/;
const LINK = /!?\[(?:[^\][]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g;

export function readPage(text: string): Page {
  const links: Link[] = [];
  const anchors = new Map<string, number>();
  const code: CodeText[] = [];
  let fence: string | null = null;
  for (const [index, raw] of text.split("\n").entries()) {
    const line = index + 1;
    const mark = FENCE.exec(raw)?.[1] ?? null;
    if (mark !== null && (fence === null || raw.trim().startsWith(fence))) {
      fence = fence === null ? mark : null;
      continue;
    }
    if (fence !== null) {
      code.push({ text: raw, line });
      continue;
    }
    for (const match of raw.matchAll(/(`+)(.+?)\1/g)) code.push({ text: (match[2] ?? "").trim(), line });
    const prose = raw.replaceAll(/(`+)(.+?)\1/g, (whole) => "x".repeat(whole.length));
    for (const match of prose.matchAll(LINK)) links.push({ target: match[1] ?? "", line });
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(raw)?.[1];
    if (heading !== undefined) addAnchor(anchors, heading);
  }
  return { links, anchors: new Set(anchors.keys()), code };
}

/** GitHub's rule: lower case, punctuation out, blanks to hyphens; a repeated heading gets a number. */
function addAnchor(anchors: Map<string, number>, heading: string): void {
  const base = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
  const seen = anchors.get(base) ?? 0;
  anchors.set(base, seen + 1);
  if (seen > 0) anchors.set(`${base}-${seen}`, 1);
}
