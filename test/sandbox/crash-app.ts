/** A stand-in for the app that the crash tests kill: opens a session, starts a command that never ends, and says so. */

import { createBubblewrap } from "#src/sandbox/bubblewrap.ts";
import { options, request, specOf } from "#test/sandbox/rig.ts";

const [dataDir = "", workspace = "", argument = ""] = process.argv.slice(2);
// Written so that a search for the number alone finds the commands and not this process.
const seconds = argument.replace("seconds=", "");
const sandbox = createBubblewrap(options(dataDir));
const opened = await sandbox.open({ ...specOf(workspace), runId: "crashed" });
if (!opened.ok) throw new Error(opened.error.message);
const script = `setsid sleep ${seconds} & mkdir -p ~/deep/ro; chmod 500 ~/deep/ro; touch /workspace/ready; sleep ${seconds}`;
const result = await opened.value.exec(request(["bash", "-c", script], { timeoutMs: 600_000 }));
process.stdout.write(`${JSON.stringify(result.end)}\n`);
