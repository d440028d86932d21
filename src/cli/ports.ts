/** Chooses the adapters of a run's ports from the configuration, for the server and for runs on a local checkout alike. */

import { join } from "node:path";
import type { Clock } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import type { Redactor } from "#src/base/redact.ts";
import type { Config } from "#src/config/config.ts";
import type { Environment } from "#src/config/environment.ts";
import { readRepositorySettings } from "#src/config/repository-file.ts";
import { isLoopback } from "#src/config/text-values.ts";
import type { FixPorts } from "#src/fix/ports.ts";
import { createTokenizer } from "#src/harness/tokenizer.ts";
import { publishPullRequest } from "#src/publish/pull-request.ts";
import type { Sandbox } from "#src/sandbox/sandbox.ts";
import type { Store } from "#src/store/store.ts";
import { createTools } from "#src/tools/tools.ts";
import { openTrace } from "#src/trace/jsonl.ts";
import { describeSuite } from "#src/verify/describe.ts";
import { detect } from "#src/verify/detect.ts";
import { createVerifyPatch } from "#src/verify/procedure.ts";
import { createReadCases } from "#src/verify/reports/read-cases.ts";
import { createRunSuite } from "#src/verify/suite.ts";
import { createTamper } from "#src/verify/tamper/offload.ts";
import { createWorkspaces } from "#src/workspace/create-workspaces.ts";
import { createBaselines, createEvidenceKeeper } from "./evidence-store.ts";
import { createModels } from "./models.ts";
import { operatorLimits, operatorSettings } from "./operator.ts";
import { traceDirectory } from "./places.ts";

export interface PortParts {
  readonly config: Config;
  readonly env: Environment;
  readonly sandbox: Sandbox;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly redactor: Redactor;
}

/** Where the issue lives and how its repository is reached. */
export interface PlaceParts extends Pick<FixPorts, "converse" | "gitToken"> {
  readonly tracePlace: (runId: string) => string;
  /** Absolute directories that may be fetched by a `file:` address. */
  readonly localRepositories: readonly string[];
}

export function createPorts(parts: PortParts, place: PlaceParts): FixPorts {
  const { config, sandbox, store, clock, ids, log, redactor } = parts;
  const { dataDir } = config.server;
  const runSuite = createRunSuite((text) => redactor.redact(text), createReadCases(clock));
  return {
    store,
    sandbox,
    workspaces: createWorkspaces({
      dataDir,
      sandbox,
      owner: sandbox.owner,
      allowedHosts: gitHosts(config.github.host),
      localRepositories: place.localRepositories,
      gitEnvironment: parts.env,
      alone: true,
      clock,
      ids,
      redactor,
      log,
    }),
    model: createModels(config.model, parts),
    tokenizer: createTokenizer({ clock, log }),
    makeTools: createTools,
    detect,
    runSuite,
    describeSuite,
    verifyPatch: createVerifyPatch(runSuite, createTamper(clock)),
    publish: publishPullRequest,
    openTrace: (runId) => openTrace({ dir: traceDirectory(dataDir), runId, clock, redactor, log }),
    keepEvidence: createEvidenceKeeper(traceDirectory(dataDir), log),
    baselines: createBaselines(join(dataDir, "baselines"), () => clock.now(), log),
    converse: place.converse,
    gitToken: place.gitToken,
    readSettings: (text) => readRepositorySettings(operatorLimits(config), text),
    operator: operatorSettings(config, place.tracePlace),
    clock,
    ids,
    log,
    redactor,
  };
}

/** Where repositories may be fetched from: `hosts` by https, and absolute directories. */
export interface Sources {
  readonly hosts: readonly string[];
  readonly local: readonly string[];
}

/** What judging a repository or a patch needs: no store, no model and no conversation. */
export function verificationPorts(parts: Omit<PortParts, "store">, sources: Sources) {
  const { config, sandbox, clock, ids, log, redactor } = parts;
  const runSuite = createRunSuite((text) => redactor.redact(text), createReadCases(clock));
  return {
    sandbox,
    workspaces: createWorkspaces({
      dataDir: config.server.dataDir,
      sandbox,
      owner: sandbox.owner,
      allowedHosts: sources.hosts,
      localRepositories: sources.local,
      gitEnvironment: parts.env,
      alone: true,
      clock,
      ids,
      redactor,
      log,
    }),
    detect,
    runSuite,
    verifyPatch: createVerifyPatch(runSuite, createTamper(clock)),
    readSettings: (text: string | null) => readRepositorySettings(operatorLimits(config), text),
    operator: operatorSettings(config, () => ""),
    redactor,
  };
}

/** A GitHub on this machine may serve git on another port than its API. */
export function gitHosts(host: string): readonly string[] {
  const name = host.replace(/:\d+$/, "");
  return isLoopback(name) ? [host, name] : [host];
}
