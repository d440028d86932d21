/** A row of the benchmark table: one ratio (or size) against a named floor, with its runs, its median and its target. */

export interface Row {
  /** What the row is asked for by on the command line. */
  readonly name: string;
  /** What was measured ÷ what floor. */
  readonly what: string;
  readonly unit: "×" | "%" | "ms" | "MB" | "characters";
  /** One value for each run. */
  readonly values: readonly number[];
  /** The most the median may be; with `atLeast` the least; null: it is only stated. */
  readonly target: number | null;
  readonly atLeast?: true;
  /** The absolute numbers behind it. */
  readonly note: string;
}

/** Measures one or more rows; a string says why it cannot be measured on this machine. */
export type Bench = () => Promise<readonly Row[] | string>;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[middle - 1] ?? 0, sorted[middle] ?? 0];
  return sorted.length % 2 === 1 ? high : (low + high) / 2;
}

export async function timed(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

export function isMet({ values, target, atLeast }: Row): boolean {
  if (target === null) return true;
  return atLeast === true ? median(values) >= target : median(values) <= target;
}

/** Runs `pair` as often as asked and answers with each one's two times; measured in turn, so that both see the same machine. */
export async function alternate(
  runs: number,
  pair: { readonly ours: () => Promise<number>; readonly floor: () => Promise<number> },
): Promise<{
  readonly ours: readonly number[];
  readonly floor: readonly number[];
  readonly ratios: readonly number[];
}> {
  const ours: number[] = [];
  const floor: number[] = [];
  for (let run = 0; run < runs; run++) {
    floor.push(await pair.floor());
    ours.push(await pair.ours());
  }
  return { ours, floor, ratios: ours.map((ms, run) => ms / (floor[run] ?? 1)) };
}

function shown(value: number, unit: Row["unit"]): string {
  const digits = unit === "×" ? 2 : unit === "characters" ? 0 : 1;
  const text = value.toLocaleString("en-US", {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
  });
  return unit === "×" ? text : `${text} ${unit}`;
}

/** As a Markdown table, so that it can go into `docs/benchmarks.md` as it is. */
export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const { name, what, unit, values, target, atLeast, note } = row;
    const spread = `${shown(Math.min(...values), unit)} to ${shown(Math.max(...values), unit)}`;
    const runs = values.length === 1 ? "" : ` (${spread}, ${values.length} runs)`;
    const goal = target === null ? "none" : `${atLeast === true ? "≥" : "≤"} ${shown(target, unit)}`;
    return [
      name,
      what,
      `${shown(median(values), unit)}${runs}`,
      goal,
      target === null ? "stated" : isMet(row) ? "met" : "**missed**",
      note,
    ];
  });
  return [
    ["row", "measured", "median", "target", "", "numbers behind it"],
    ["---", "---", "---", "---", "---", "---"],
    ...lines,
  ]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}
