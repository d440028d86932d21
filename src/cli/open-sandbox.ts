/** Opens the sandbox that the configuration asks for, or says what to install or switch on. */

import { join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import type { Config } from "#src/config/config.ts";
import type { Environment } from "#src/config/environment.ts";
import { chooseSandbox } from "#src/sandbox/choose.ts";
import { engineEnvironment } from "#src/sandbox/container/engine.ts";
import { hostRegistrySettings } from "#src/sandbox/network/registry.ts";
import type { Sandbox } from "#src/sandbox/sandbox.ts";

export interface SandboxParts {
  readonly config: Config;
  readonly env: Environment;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly home: string;
}

/** Rejects with what to install or switch on when the sandbox that was asked for does not work here. */
export async function openSandbox(parts: SandboxParts): Promise<Sandbox> {
  const chosen = await chooseSandbox(parts.config.sandbox.kind, {
    dataDir: parts.config.server.dataDir,
    clock: parts.clock,
    ids: parts.ids,
    log: parts.log,
    hostPath: parts.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
    registry: await hostRegistrySettings(
      parts.env,
      parts.home,
      join(parts.config.server.dataDir, "registry"),
    ),
    ripgrep: rgPath,
    images: parts.config.sandbox.imagesAllowed,
    engineEnv: engineEnvironment(parts.env),
  });
  if (!chosen.ok) throw new Error(`the sandbox does not work on this machine: ${chosen.error.message}`);
  return chosen.value;
}
