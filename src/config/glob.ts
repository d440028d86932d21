/**
 * Matches globs that a repository wrote, in time bounded by their length: the usual translation into a regular expression
 * can be made to run for ever (`*a*a*a*a*a*b`), and these globs come from outside.
 */

/** What stands for itself, one character, any characters of a segment, whole segments, or anything. */
type Token =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "one" | "many" | "segments" | "all" };

const MAX_LENGTH = 200;
const MAX_ALTERNATIVES = 64;

/** Why the glob is refused, as the end of a sentence; null when it can be matched. */
export function globProblem(glob: string): string | null {
  if (glob === "") return "must not be empty";
  if (glob.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`;
  if (glob.startsWith("!")) return "must not start with !: a repository can only protect more";
  if (/[[\]\\]|[!@+?*]\(/.test(glob)) {
    return "must be made of text, *, ?, ** and {a,b}; write ? or * in place of brackets, backslashes and extended forms";
  }
  return alternatives(glob) === null
    ? `must have closed, unnested braces and at most ${MAX_ALTERNATIVES} alternatives`
    : null;
}

/** True when the path (forward slashes) is the glob's or lies in a directory that is; case does not matter, hidden names are as any other. */
export function matchesGlob(glob: string, path: string): boolean {
  const plain = glob
    .toLowerCase()
    .replace(/^\.?\//, "")
    .replace(/\/+$/, "");
  return (alternatives(plain) ?? []).some((one) => matchesTokens(tokensOf(one), path.toLowerCase()));
}

/** The glob once for each choice of its braces; null when the braces are wrong or too many. */
function alternatives(glob: string): readonly string[] | null {
  let made = [""];
  for (const piece of glob.split(/(\{[^{}]*\})/)) {
    const choices = piece.startsWith("{") && piece.endsWith("}") ? piece.slice(1, -1).split(",") : [piece];
    if (choices.length === 1 && /[{}]/.test(piece)) return null;
    made = made.flatMap((start) => choices.map((choice) => start + choice));
    if (made.length > MAX_ALTERNATIVES) return null;
  }
  return made;
}

function tokensOf(glob: string): readonly Token[] {
  const pieces = glob.matchAll(
    /(?<segments>(?<=^|\/)\*\*\/)|(?<all>(?<=^|\/)\*\*$)|(?<many>\*+)|(?<one>\?)|(?<text>.)/gsu,
  );
  return [...pieces].map(({ 0: text, groups = {} }): Token => {
    if (groups.segments !== undefined) return { kind: "segments" };
    if (groups.all !== undefined) return { kind: "all" };
    if (groups.many !== undefined) return { kind: "many" };
    return groups.one === undefined ? { kind: "text", text } : { kind: "one" };
  });
}

/** Follows all ways through the tokens at once: at most tokens × characters steps, whatever they are. */
function matchesTokens(tokens: readonly Token[], path: string): boolean {
  let states = reachable(tokens, new Set([0]), true);
  for (const character of path) {
    // A glob that names a directory covers what is in it.
    if (character === "/" && states.has(tokens.length)) return true;
    const next = new Set<number>();
    for (const state of states) {
      const token = tokens[state];
      if (token !== undefined && takes(token, character))
        next.add(token.kind === "text" || token.kind === "one" ? state + 1 : state);
    }
    if (next.size === 0) return false;
    states = reachable(tokens, next, character === "/");
  }
  return states.has(tokens.length);
}

function takes(token: Token, character: string): boolean {
  if (token.kind === "text") return token.text === character;
  return token.kind === "all" || token.kind === "segments" || character !== "/";
}

/** States plus those behind tokens that may be empty; `**` and a slash may be left only where a segment begins. */
function reachable(
  tokens: readonly Token[],
  from: ReadonlySet<number>,
  atSegmentStart: boolean,
): ReadonlySet<number> {
  const found = new Set<number>();
  for (let state of from) {
    for (;;) {
      found.add(state);
      const kind = tokens[state]?.kind;
      if (kind !== "many" && kind !== "all" && !(kind === "segments" && atSegmentStart)) break;
      state += 1;
    }
  }
  return found;
}
