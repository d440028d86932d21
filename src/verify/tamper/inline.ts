/** Tests that live in a source file: Rust's test modules, documentation tests, Vitest's in-source tests. Their part of the text is compared like a test file. */

interface Inline {
  readonly path: RegExp;
  /** The lines of the text that are tests, joined. */
  readonly part: (text: string) => string;
}

function from(marker: RegExp): Inline["part"] {
  return (text) => {
    const lines = text.split("\n");
    const at = lines.findIndex((line) => marker.test(line));
    return at < 0 ? "" : lines.slice(at).join("\n");
  };
}

const rustModule = from(/^\s*#\[cfg\((?:all\()?test\b|^\s*#\[(?:\w+::)?test\]/);

/** Lines of code blocks in documentation comments. */
function rustDoc(text: string): string {
  let inside = false;
  return text
    .split("\n")
    .flatMap((line) => {
      const comment = /^\s*\/\/[/!]\s?(.*)$/.exec(line)?.[1];
      const fence = comment !== undefined && /^\s*```/.test(comment);
      inside = comment !== undefined && inside !== fence;
      return inside && !fence ? [comment ?? ""] : [];
    })
    .join("\n");
}

/** Examples of docstrings with their expected output, which ends at a blank line. */
function doctest(text: string): string {
  let inside = false;
  return text
    .split("\n")
    .filter((line) => {
      if (/^\s*>>> /.test(line)) inside = true;
      else if (/^\s*(?:"""|''')?\s*$/.test(line)) inside = false;
      return inside;
    })
    .join("\n");
}

const INLINE: readonly Inline[] = [
  { path: /\.rs$/, part: (text) => `${rustDoc(text)}\n${rustModule(text)}`.trim() },
  { path: /\.py$/, part: doctest },
  { path: /\.[cm]?[jt]sx?$/, part: from(/\bimport\.meta\.vitest\b/) },
];

/** The tests within a source file as text; empty when it has none. */
export function inlineTests(path: string, text: string | null): string {
  if (text === null) return "";
  return INLINE.find((one) => one.path.test(path))?.part(text) ?? "";
}
