/** Writes the table of attacks into docs/security.md; the words around it are kept as they are. */

import { GROUPS, type Group, type Listed } from "#test/attacks/attack.ts";
import { ATTACKS } from "#test/attacks/everything.ts";

export const SECURITY_PAGE = "docs/security.md";

const BEGIN = /^<!-- attacks:begin.*-->$/m;
const END = "<!-- attacks:end -->";

/** Columns, and the word by which an attack's `notStopped` names them. */
const BACKENDS: readonly (readonly [heading: string, word: string])[] = [
  ["bubblewrap, root", "bubblewrap as root"],
  ["bubblewrap, ordinary user", "bubblewrap as an ordinary user"],
  ["container", "podman"],
];

/** `page` is the present text. Throws when the marks of the table are gone. */
export function renderSecurityPage(page: string): string {
  const begin = BEGIN.exec(page);
  const end = page.indexOf(END);
  if (begin === null || end < begin.index)
    throw new Error(`${SECURITY_PAGE} has lost the marks between which the table of attacks stands`);
  const start = begin.index + begin[0].length;
  return `${page.slice(0, start)}\n\n${tables()}\n${page.slice(end)}`;
}

function tables(): string {
  const groups = Object.entries(GROUPS) as (readonly [Group, string])[];
  const count = `${ATTACKS.length} attacks in all.\n`;
  return [
    count,
    ...groups.map(([group, title]) =>
      table(
        title,
        ATTACKS.filter((one) => one.group === group),
      ),
    ),
  ].join("\n");
}

function table(title: string, attacks: readonly Listed[]): string {
  const head = `### ${title}\n\n| attack | what must hold | ${BACKENDS.map(([heading]) => heading).join(" | ")} |\n| --- | --- | ${BACKENDS.map(() => "---").join(" | ")} |\n`;
  return `${head}${attacks.map(row).join("")}`;
}

function row(attack: Listed): string {
  const results = BACKENDS.map(([, word]) =>
    excuseFor(attack, word) === undefined ? "held" : "**not stopped**",
  );
  const name = attack.fault === undefined ? attack.name : `${attack.name} (${attack.fault})`;
  return `| ${[name, attack.holds, ...results].map(cell).join(" | ")} |\n`;
}

function excuseFor(attack: Listed, backend: string): string | undefined {
  return Object.entries(attack.notStopped ?? {}).find(([word]) => backend.includes(word))?.[1];
}

/** Names of files and of calls must not be read as markup. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("_", "\\_").replaceAll("~", "\\~");
}
