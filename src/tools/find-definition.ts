/** The tool find_definition: where a symbol is defined, in one call instead of search, read, read. */

import { z } from "zod";
import type { Clock } from "#src/base/clock.ts";
import { createOffload, type Offload } from "#src/base/offload.ts";
import type { Tool } from "#src/harness/tool.ts";
import type { Session } from "#src/sandbox/sandbox.ts";
import type { Files } from "./files.ts";
import { choose, describe, type Found } from "./find-definition-answer.ts";
import {
  type Candidate,
  type Candidates,
  findCandidates,
  findNearest,
} from "./find-definition-candidates.ts";
import { languageOf } from "./find-definition-grammars.ts";
import { guessIn } from "./find-definition-guess.ts";
import { type Definition, parseSymbol, type Wanted } from "./find-definition-symbol.ts";
import { done, refused } from "./setup.ts";

/** A file that takes longer, on a busy machine and with the thread still to start, is hostile or a table of data. */
const FILE_MS = 5_000;
const ALL_MS = 20_000;
/** The thread is kept for the next call for so long. */
const IDLE_MS = 20_000;
const MEMORY_MB = 256;

const schema = z.object({
  symbol: z.string().min(1).max(300).describe("Name, or qualified: Class.method, module.fn, Type::fn"),
});

type Args = z.infer<typeof schema>;

interface Parsed {
  readonly found: readonly Found[];
  /** Paths that were given up. */
  readonly given: readonly string[];
}

/** Aborts when the caller's signal does or after `ms`; `over` takes the timer back. */
function within(clock: Clock, ms: number, signal: AbortSignal): { signal: AbortSignal; over(): void } {
  const controller = new AbortController();
  const over = clock.timer(ms, () => controller.abort(new Error("the time limit was reached")));
  return { signal: AbortSignal.any([signal, controller.signal]), over };
}

async function parseOne(
  offload: Offload,
  name: string,
  file: Candidate,
  signal: AbortSignal,
): Promise<readonly Definition[] | null> {
  const language = languageOf(file.path, file.text);
  if (language === null) return guessIn(name, file.text);
  try {
    return (await offload.call("findInFile", [language, name, file.text], signal)) as readonly Definition[];
  } catch {
    // Ended, out of memory, or a defect of the grammar: the caller looks at its lines and says so.
    return null;
  }
}

export interface FindDefinitionParts {
  readonly session: Session;
  readonly files: Files;
  readonly clock: Clock;
}

export function findDefinitionTool({ session, files, clock }: FindDefinitionParts): Tool<Args> {
  const offload = createOffload({
    module: new URL("./find-definition-parse.ts", import.meta.url),
    clock,
    idleMs: IDLE_MS,
    memoryMb: MEMORY_MB,
  });

  const parseAll = async (
    name: string,
    candidates: readonly Candidate[],
    signal: AbortSignal,
  ): Promise<Parsed> => {
    const found: Found[] = [];
    const given: string[] = [];
    const all = within(clock, ALL_MS, signal);
    for (const file of candidates) {
      if (signal.aborted) break;
      const one = within(clock, FILE_MS, all.signal);
      const parsed = await parseOne(offload, name, file, one.signal);
      one.over();
      if (parsed === null) given.push(file.path);
      for (const definition of parsed ?? guessIn(name, file.text)) found.push({ ...file, definition });
    }
    all.over();
    return { found, given };
  };

  return {
    name: "find_definition",
    description:
      "Shows where a function, method, class, type or variable is defined: path:lines, kind and its first lines. By syntax for JS/TS, Python, Go, Rust, Java, C, C++, C#, Ruby and PHP, by pattern for others. Use it instead of search and read_file when you have a name.",
    schema,
    readOnly: true,
    run: async (args, { signal }) => {
      const symbol = parseSymbol(args.symbol);
      if (symbol === null)
        return refused(
          `${JSON.stringify(args.symbol.slice(0, 100))} is no name. Give one like parseConfig or Config.parse; for text use search.`,
        );
      const candidates = await findCandidates(session, files, symbol.name, signal);
      if (typeof candidates === "string") return refused(candidates);
      const { found, given } = await parseAll(symbol.name, candidates.files, signal);
      const notes = notesOn(candidates, given);
      if (found.length > 0) return done(describe(symbol, choose(symbol, found), notes));
      const text = await nothing(session, symbol, candidates, signal);
      return done([...notes, text].join("\n"));
    },
  };
}

function notesOn(candidates: Candidates, given: readonly string[]): readonly string[] {
  const notes: string[] = [];
  const left = candidates.paths.length - candidates.files.length;
  if (left > 0)
    notes.push(`[${left} further files with this word were not looked at; qualify the name or use search.]`);
  if (given.length > 0)
    notes.push(
      `[By pattern only, since it could not be parsed in time: ${given.slice(0, 3).join(", ")}${given.length > 3 ? ", …" : ""}]`,
    );
  return notes;
}

async function nothing(
  session: Session,
  symbol: Wanted,
  candidates: Candidates,
  signal: AbortSignal,
): Promise<string> {
  const { paths } = candidates;
  const near = await findNearest(session, symbol.name, signal);
  const names = near.length === 0 ? "" : ` Names like it: ${near.join(", ")}.`;
  if (paths.length === 0)
    return `${symbol.name} occurs in no file that is not ignored.${names} Try search with a part of the name.`;
  const where = `${paths.slice(0, 5).join(", ")}${paths.length > 5 ? ", …" : ""}`;
  return `No definition of ${symbol.name} was found; the word occurs in ${paths.length} file(s): ${where}. It may come from a dependency (ignored files are not looked at).${names} To see its uses, use search.`;
}
