/** `agent-fix doctor --repo`: looks at one repository as a run would before its agent begins, and tells its maintainers when asked to. */

import { systemClock } from "#src/base/clock.ts";
import { createRedactor } from "#src/base/redact.ts";
import { ok, type Result } from "#src/base/result.ts";
import { formatProblems, secretsOf } from "#src/config/config.ts";
import { type Environment, loadEnv } from "#src/config/environment.ts";
import { type FirstLook, lookAt } from "#src/fix/first-look.ts";
import { ONBOARDING_TITLE, type OnboardingFacts, renderOnboarding } from "#src/gate/onboarding.ts";
import type { GitHubApp } from "#src/github/github-app.ts";
import { createGitHubApp } from "#src/github/octokit.ts";
import { findPlace, type Place } from "./installed-place.ts";
import { postIntroduction, standingIntroduction } from "./introduction-issue.ts";
import { type Judging, judge } from "./judging.ts";
import { createLog, toStandardError } from "./logger.ts";
import { gitHosts } from "./ports.ts";
import { proxiedFetch } from "./proxied-fetch.ts";

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

  const sources = { hosts: gitHosts(config.github.host), local: [] };
  const looked = await judge({ config, env, redactor, name: "look", sources }, (judging) =>
    look(app, place.value, judging),
  );
  if (!looked.ok) return looked.error;
  if (!looked.value.ok) return complain(looked.value.error);
  const found = looked.value.value;
  const body = renderOnboarding(factsOf(place.value, found));
  const told = wanted.post
    ? await postIntroduction(app, place.value, body)
    : ok(`# ${ONBOARDING_TITLE}\n\n${body}`);
  if (!told.ok) return complain(told.error);
  console.log(told.value);
  return canProve(found) ? 0 : 1;
}

function look(
  app: GitHubApp,
  { repository, installationId }: Place,
  { ports, runId, signal }: Judging,
): Promise<Result<FirstLook, string>> {
  const request = {
    runId,
    repository,
    branch: repository.defaultBranch,
    base: null,
    signal,
    begin: (what: string) => console.error(what),
  };
  return lookAt(ports, request, async (renew) => {
    const token = await app.gitToken(installationId, repository, renew);
    return token.ok ? token.value : null;
  });
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
