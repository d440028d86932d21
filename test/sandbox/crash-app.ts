/** A stand-in for the app that the crash tests kill: opens sessions, starts commands that never end, and says so. */

import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { backendNamed, request, specOf } from "#test/sandbox/rig.ts";

const [dataDir = "", workspace = "", argument = "", backend = "", many = ""] = process.argv.slice(2);
// Written so that a search for the number alone finds the commands and not this process.
const seconds = argument.replace("seconds=", "");
const sandbox = (await backendNamed(backend)).make(dataDir);
// What a start of the app does first: the leftovers of the one that was killed before.
if (many !== "") await sandbox.sweep();

async function occupy(runId: string, directory: string): Promise<void> {
  const opened = await sandbox.open({ ...specOf(directory), runId });
  if (!opened.ok) throw new Error(opened.error.message);
  const script = `setsid sleep ${seconds} & mkdir -p ~/deep/ro; chmod 500 ~/deep/ro; touch /workspace/ready; sleep ${seconds}`;
  const result = await opened.value.exec(request(["bash", "-c", script], { timeoutMs: 600_000 }));
  process.stdout.write(`${JSON.stringify(result.end)}\n`);
}

/** Opens, works and closes without end, so that a kill at any moment meets another state. */
async function churn(number: number): Promise<void> {
  const directory = join(dataDir, `churn-${number}`);
  await mkdir(directory, { recursive: true });
  if (sandbox.owner !== null) await chown(directory, sandbox.owner.uid, sandbox.owner.gid);
  for (;;) {
    const opened = await sandbox.open({ ...specOf(directory), runId: `churn-${number}` });
    if (!opened.ok) throw new Error(opened.error.message);
    const script = `(setsid sleep ${seconds} </dev/null >/dev/null 2>&1 &) ; sleep 0.0$RANDOM`;
    await opened.value.exec(request(["bash", "-c", script]));
    await opened.value.exec(request(["bash", "-c", `sleep ${seconds}`], { timeoutMs: 150 }));
    await opened.value.close();
  }
}

if (many === "") await occupy("crashed", workspace);
else await Promise.all([occupy("crashed", workspace), churn(1), churn(2)]);
