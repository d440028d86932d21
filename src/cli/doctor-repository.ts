/** `agent-fix doctor --repo`: looks at one repository as a run would before its agent begins, and tells its maintainers when asked to. */

import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#src/base/clock.ts";
import { systemIds } from "#src/base/ids.ts";
import { createRedactor } from "#src/base/redact.ts";
import { ok } from "#src/base/result.ts";
import { formatProblems, secretsOf } from "#src/config/config.ts";
import { type Environment, loadEnv } from "#src/config/environment.ts";
import { type FirstLook, lookAt } from "#src/fix/first-look.ts";
import { ONBOARDING_TITLE, type OnboardingFacts, renderOnboarding } from "#src/gate/onboarding.ts";
import { createGitHubApp } from "#src/github/octokit.ts";
import { findPlace, type Place } from "./installed-place.ts";
import { postIntroduction, standingIntroduction } from "./introduction-issue.ts";
import { createLog, toStandardError } from "./logger.ts";
import { openSandbox } from "./open-sandbox.ts";
import { localDataDir } from "./places.ts";
import { gitHosts, verificationPorts } from "./ports.ts";
import { proxiedFetch } from "./proxied-fetch.ts";
import { exitCodeOf, listenToSignals } from "./signals.ts";

export interface Introduction {
  /** `owner/name` */
  readonly repository: string;
  /** True: opens the issue; false: only shows it. */
  readonly post: boolean;
}

/** Exit code 0 when a run could prove something there, 1 when not or when it could not be looked at. */
export async function introduce(env: Environment, wanted: Introduction): Promise<number> {
  const loaded = loadEnv(env);
  if (!loaded.ok) return complain(formatProblems(loaded.error));
  const config = loaded.value;
  const { credentials, apiUrl } = config.github;
  if (credentials === null) return complain("no credentials yet: run npm start and open the page it prints");
  const redactor = createRedactor(secretsOf(config));
  const log = createLog("silent", redactor, toStandardError);
  const shared = { clock: systemClock, redactor, log };
  const { appId, privateKey } = credentials;
  const app = createGitHubApp({ ...shared, appId, privateKey, baseUrl: apiUrl, fetch: proxiedFetch(env) });
  const place = await findPlace(app, wanted.repository);
  if (!place.ok) return complain(place.error);
  const before = wanted.post ? await standingIntroduction(app, place.value) : ok(null);
  if (!before.ok) return complain(before.error);
  if (before.value !== null) {
    console.log(before.value);
    return 0;
  }

  const runId = systemIds.runId(systemClock.now());
  const dataDir = join(localDataDir(config.server.dataDir), "look", runId);
  const ownConfig = { ...config, server: { ...config.server, dataDir } };
  const parts = { ...shared, config: ownConfig, env, ids: systemIds };
  const sandbox = await openSandbox({ ...parts, home: homedir() });
  const ports = verificationPorts({ ...parts, sandbox }, { hosts: gitHosts(config.github.host), local: [] });
  const stop = new AbortController();
  const signals = listenToSignals();
  const stopped = signals.come().then(() => stop.abort(new Error("stopped")));
  try {
    const { repository, installationId } = place.value;
    const request = {
      runId,
      repository,
      branch: repository.defaultBranch,
      base: null,
      signal: stop.signal,
      begin: (what: string) => console.error(what),
    };
    const work = lookAt(ports, request, async (renew) => {
      const token = await app.gitToken(installationId, repository, renew);
      return token.ok ? token.value : null;
    });
    await Promise.race([work, stopped.then(() => work.catch(() => undefined))]);
    const signal = signals.take();
    if (signal !== null) return exitCodeOf(signal);
    const look = await work;
    if (!look.ok) return complain(look.error);
    const body = renderOnboarding(factsOf(place.value, look.value));
    const told = wanted.post
      ? await postIntroduction(app, place.value, body)
      : ok(`# ${ONBOARDING_TITLE}\n\n${body}`);
    if (!told.ok) return complain(told.error);
    console.log(told.value);
    return canProve(look.value) ? 0 : 1;
  } finally {
    signals.close();
    await ports.workspaces.remove(runId, false);
    await sandbox.sweep();
    await rm(dataDir, { recursive: true, force: true });
  }
}

function complain(problem: string): number {
  console.error(`agent-fix doctor: ${problem}`);
  return 1;
}

function factsOf({ repository, missing }: Place, look: FirstLook): OnboardingFacts {
  const { settings, detected, baseline } = look;
  return {
    branch: repository.defaultBranch,
    baseSha: look.baseSha,
    setup: detected.setup,
    setUpFailure: look.setUpFailure,
    test: detected.test,
    baseline:
      baseline === null
        ? null
        : {
            suite: baseline.evidence,
            failing: baseline.cases.filter(({ outcome }) => outcome === "fail").map(({ id }) => id),
          },
    gates: settings.gates,
    approvers: settings.approvers,
    approverPermission: settings.approverPermission,
    budget: settings.budget,
    hosts: settings.networkAllow,
    missing,
    notes: [...settings.notes, ...detected.notes],
  };
}

function canProve({ baseline, setUpFailure }: FirstLook): boolean {
  return (
    setUpFailure === null &&
    baseline !== null &&
    baseline.evidence.stopped === null &&
    baseline.cases.length > 0
  );
}
