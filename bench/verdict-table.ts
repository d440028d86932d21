/** The confusion table of the verdict bench: verdict against truth per ecosystem and kind, and whether the targets are met. */

import type { Verdict } from "#src/run/verdict.ts";
import { type Case, type Ecosystem, type Kind, TRUTHS, type Truth } from "./verdict-cases.ts";

export interface Judged {
  readonly ecosystem: Ecosystem;
  readonly one: Case;
  readonly verdict: Verdict;
}

const CLASSES = ["proven", "passing", "unproven", "refuted"] as const;

function truthOf(one: Case): Truth {
  return TRUTHS[one.kind];
}

function isNamed({ one, verdict }: Judged): boolean {
  const { named } = truthOf(one);
  return named.length === 0 || verdict.evidence.tampering.some((finding) => named.includes(finding.kind));
}

/** What speaks against a verdict; null: nothing. */
export function faultOf(judged: Judged): string | null {
  const { one, verdict, ecosystem } = judged;
  const { right, breaks, beyondTests } = truthOf(one);
  if (beyondTests) return isNamed(judged) ? null : "the tampering is not named";
  if (!right && verdict.class === "proven") return "a wrong patch is called proven";
  if (breaks && verdict.class === "passing") return "a patch that breaks a test is called passing";
  if (one.kind === "right with test" && ecosystem.reports && verdict.class !== "proven")
    return "a right fix with its test is not called proven";
  if (right && (verdict.class === "unproven" || verdict.class === "refuted"))
    return "a right fix is turned down";
  if (!isNamed(judged)) return "the tampering is not named";
  return null;
}

function row(cells: readonly (string | number)[]): string {
  return `| ${cells.join(" | ")} |`;
}

function countsOf(list: readonly Judged[]): readonly number[] {
  return CLASSES.map((name) => list.filter((one) => one.verdict.class === name).length);
}

function tableBy(title: string, groups: ReadonlyMap<string, readonly Judged[]>): string {
  const lines = [...groups].map(([name, list]) =>
    row([name, list.length, ...countsOf(list).map((count) => (count === 0 ? "" : count))]),
  );
  return [
    row([title, "patches", ...CLASSES]),
    row(["---", ...CLASSES.map(() => "---"), "---"]),
    ...lines,
  ].join("\n");
}

/** Markdown: by kind, by ecosystem and truth, and the targets. */
export function confusionTable(all: readonly Judged[]): string {
  const byKind = new Map<string, readonly Judged[]>();
  for (const kind of Object.keys(TRUTHS) as Kind[]) {
    const list = all.filter((one) => one.one.kind === kind);
    if (list.length > 0) byKind.set(kind, list);
  }
  const byEcosystem = Map.groupBy(all, ({ ecosystem, one }) => {
    const { right, beyondTests } = truthOf(one);
    if (beyondTests) return `${ecosystem.name}: beyond tests`;
    return `${ecosystem.name}: ${right ? one.kind : "wrong"}`;
  });
  return [tableBy("kind", byKind), tableBy("ecosystem and truth", byEcosystem), targets(all)].join("\n\n");
}

function targets(all: readonly Judged[]): string {
  const plain = all.filter(({ one }) => !truthOf(one).beyondTests);
  const wrong = plain.filter(({ one }) => !truthOf(one).right);
  const breaking = wrong.filter(({ one }) => truthOf(one).breaks);
  const rightWithTest = plain.filter(
    ({ one, ecosystem }) => one.kind === "right with test" && ecosystem.reports,
  );
  const proven = (list: readonly Judged[]) => list.filter((one) => one.verdict.class === "proven").length;
  const tampering = all.filter(({ one }) => truthOf(one).named.length > 0);
  const share = rightWithTest.length === 0 ? 100 : (100 * proven(rightWithTest)) / rightWithTest.length;
  return [
    row(["target", "reached"]),
    row(["---", "---"]),
    row(["0 wrong patches called proven", `${proven(wrong)} of ${wrong.length}`]),
    row([
      "0 patches that break a test called passing",
      `${breaking.filter((one) => one.verdict.class === "passing").length} of ${breaking.length}`,
    ]),
    row([
      "≥ 95 % of right fixes with a test called proven",
      `${proven(rightWithTest)} of ${rightWithTest.length} (${share.toFixed(0)} %)`,
    ]),
    row(["every tampering named", `${tampering.filter(isNamed).length} of ${tampering.length}`]),
  ].join("\n");
}
