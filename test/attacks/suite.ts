/** Plays the attacks as commands against one backend: the cheap ones in one session, those that use something up in one of their own. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Attack, Listed } from "#test/attacks/attack.ts";
import { createHost, type Host } from "#test/attacks/host.ts";
import { COMMAND_ATTACKS } from "#test/attacks/list.ts";
import { type Backend, createRig, MIB, type Opened, type Rig } from "#test/sandbox/rig.ts";
import { FULL, sample, skipUnless } from "#test/support/tier.ts";

/** Small, so that a bomb fills them soon. */
const LIMITS = { memoryBytes: 256 * MIB, processes: 60, diskBytes: 96 * MIB, openFiles: 256 };
const TIMEOUT_MS = 20_000;
const OUTPUT_BYTES = 1 * MIB;
/** The app may use this much more after an output bomb: what is kept of the output, and room for the collector. */
const GROWTH_BYTES = 160 * MIB;
/** As the app empties a directory that it removes: a plain removal stumbles over paths that are too long. */
const EMPTY =
  "find /workspace -type d ! -perm -u+rwx -exec chmod u+rwx {} \\; ; find /workspace -mindepth 1 -delete";
const QUICK = { cheap: 8, heavy: 1 };

export function attackSuite(backend: Backend): void {
  describe(`attacks on ${backend.name}`, {
    skip: skipUnless(backend.missing === null, backend.missing ?? ""),
  }, () => {
    let rig: Rig | undefined;
    let host: Host | undefined;
    const world = () => {
      assert.ok(rig !== undefined && host !== undefined, "the rig is not ready");
      return { rig, host };
    };
    before(async () => {
      rig = await createRig(backend.make);
      host = await createHost(rig.dataDir);
    });
    after(async () => {
      await host?.close();
      await rig?.close();
    });
    const chosen = [
      ...sample(
        COMMAND_ATTACKS.filter((attack) => attack.heavy !== true),
        QUICK.cheap,
      ),
      ...sample(
        COMMAND_ATTACKS.filter((attack) => attack.heavy === true),
        QUICK.heavy,
      ),
    ];
    for (const attack of chosen)
      test(titleOf(attack), async () => {
        const problems = await play(attack, world());
        const excuse = excuseOf(attack, backend.name);
        if (excuse === undefined) assert.deepEqual(problems, []);
        else if (FULL)
          assert.notDeepEqual(
            problems,
            [],
            `it is stopped now: take it off the list of limitations (${excuse})`,
          );
      });
  });
}

export function titleOf(attack: Attack): string {
  return `${attack.fault === undefined ? "" : `${attack.fault}: `}${attack.name}: ${attack.holds}`;
}

/** Why this backend cannot stop it; undefined: it must. */
export function excuseOf(attack: Listed, backend: string): string | undefined {
  return Object.entries(attack.notStopped ?? {}).find(([word]) => backend.includes(word))?.[1];
}

/** Runs the attack, and what comes after it; what did not hold. */
export async function play(
  attack: Attack,
  { rig, host }: { readonly rig: Rig; readonly host: Host },
): Promise<readonly string[]> {
  const mark = randomBytes(12).toString("hex");
  const own = attack.heavy === true || attack.next !== undefined;
  const opened = own ? await rig.open({ limits: LIMITS, runId: "attacker" }) : await rig.shared();
  const room = process.memoryUsage().rss;
  const first = await run(opened, attack, attack.script, { ...host.env, ATTACK: mark });
  const problems = [...(await host.problems(first.text)), ...first.problems, ...survivors(mark)];
  const growth = process.memoryUsage().rss - room;
  if (growth > GROWTH_BYTES) problems.push(`the app grew by ${Math.round(growth / MIB)} MiB`);
  if (attack.heavy === true) {
    await opened.sh(EMPTY);
    const again = await opened.sh("echo alive");
    if (again.text !== "alive\n")
      problems.push(`the next command did not work: ${JSON.stringify(again.end)} ${again.stderr.head}`);
  }
  if (own) await opened.session.close();
  if (attack.next !== undefined) {
    const later = await rig.open({ limits: LIMITS, runId: "victim" });
    const second = await run(later, attack, attack.next, host.env);
    problems.push(...(await host.problems(second.text)), ...second.problems);
    await later.session.close();
  }
  return problems;
}

async function run(
  { sh }: Opened,
  attack: Attack,
  script: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly text: string; readonly problems: readonly string[] }> {
  const result = await sh(`${script}\necho; echo DONE`, {
    env,
    timeoutMs: attack.timeoutMs ?? TIMEOUT_MS,
    outputBytes: OUTPUT_BYTES,
  });
  const text = `${result.text}\n${result.stderr.head}${result.stderr.tail}`;
  const problems: string[] = [];
  if (result.end.kind === "not_started") problems.push(`it did not start: ${result.end.message}`);
  // An attack that broke off has shown nothing.
  else if (attack.heavy !== true && !result.text.includes("\nDONE\n"))
    problems.push(`it did not come to its end: ${JSON.stringify(result.end)} ${text.slice(-600)}`);
  if (/SyntaxError|Traceback/.test(text) && !text.includes("MemoryError"))
    problems.push(`its own program is broken: ${text.slice(-600)}`);
  return { text, problems };
}

/** Living processes, anywhere, that were started by the attack: each carries its mark in its environment. */
function survivors(mark: string): readonly string[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      if (!readFileSync(`/proc/${name}/environ`, "latin1").includes(mark)) return [];
      const state = readFileSync(`/proc/${name}/stat`, "latin1");
      if (/\) [ZX] /.test(state)) return [];
      return [
        `still alive: ${readFileSync(`/proc/${name}/cmdline`, "latin1").replaceAll("\0", " ").slice(0, 100)}`,
      ];
    } catch {
      return []; // It ended while we looked, or belongs to somebody else.
    }
  });
}
