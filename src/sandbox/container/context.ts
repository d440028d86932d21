/** What the parts of the container sandbox know about the machine, the operator and this process. */

import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import type { EngineName } from "#src/sandbox/container/argv.ts";
import type { Engine } from "#src/sandbox/container/engine.ts";
import type { Owner } from "#src/sandbox/container/owner.ts";
import type { RegistrySettings } from "#src/sandbox/network/registry.ts";
import type { SandboxOwner } from "#src/sandbox/sandbox.ts";

export interface ContainerOptions {
  readonly engine: EngineName;
  /** All state of the app; sessions live below `<dataDir>/runs/<run>/sandbox`. One process at a time uses it. */
  readonly dataDir: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The operator's PATH: where the engine is. */
  readonly hostPath: string;
  /** The engine's own environment, see `engineEnvironment`. */
  readonly engineEnv: Readonly<Record<string, string>>;
  /** Images that sessions may run in; the first is for sessions that name none. */
  readonly images: readonly string[];
  /** As root: the user and group id that commands run as; default 61000. Two apps on one machine need two. */
  readonly uid?: number;
  /** The host's own registries and certificates, for sessions with a network. */
  readonly registry?: RegistrySettings;
  /** Path of a ripgrep program to show inside, behind the image's own. */
  readonly ripgrep?: string | null;
}

export interface ContainerHost {
  readonly engine: Engine;
  readonly programs: Readonly<Record<"rm" | "chmod" | "du" | "mkfifo", string>> &
    Readonly<Record<"socat" | "nsenter" | "setpriv", string | null>>;
  readonly openFilesCeiling: number;
  readonly processesCeiling: number;
  readonly cpus: number;
}

export interface ContainerContext extends ContainerOptions {
  readonly host: ContainerHost;
  readonly isRoot: boolean;
  /** Whom commands run as, inside and outside. */
  readonly user: SandboxOwner;
  /** Who uses this data directory: the label that all its containers carry. */
  readonly identity: string;
  /** `agent-fix-<identity>.<this process>`: start of every container's name. */
  readonly mark: string;
  /** This process, as its containers name it. */
  readonly owner: Owner;
  /** Session directories in use. */
  readonly live: Set<string>;
}

/** Label by which containers of one data directory are found again. */
export const DATA_LABEL = "agent-fix.data";
