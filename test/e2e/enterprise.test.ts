/** A GitHub Enterprise Server: the API under /api/v3, https with a certificate authority of its own, and a proxy on the way, for API and git. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { contractViolations } from "#test/support/contract.ts";
import { LABEL, MAINTAINER, outside, REPO } from "#test/support/outside.ts";
import { SMALL_FILES, smallJob } from "#test/support/small-job.ts";
import { tempDir } from "#test/support/temp-dir.ts";
import { inTurn, skipUnless } from "#test/support/tier.ts";
import { selfSigned, tunnelProxy } from "#test/support/tls.ts";

const skip = skipUnless(spawnSync("openssl", ["version"]).status === 0, "openssl is not installed");

for (const [turn, proxied] of [false, true].entries())
  if (inTurn(2 * turn, 8))
    test(`from label to pull request over https with a self-signed authority${proxied ? ", through a proxy" : ""}`, {
      skip,
    }, async () => {
      await using dir = await tempDir("tls-");
      const tls = await selfSigned(dir.path);
      const proxy = await tunnelProxy();
      const env = {
        NODE_EXTRA_CA_CERTS: tls.file,
        ...(proxied ? { HTTPS_PROXY: proxy.url, NO_PROXY: "not-this-one.example" } : {}),
      };
      try {
        await outside({ script: smallJob, files: SMALL_FILES, tls, env }, async (world) => {
          const { github } = world;
          const issue = world.openIssue();
          github.label(REPO, issue, MAINTAINER, LABEL);
          await world.untilState(issue, "awaiting_approval");
          github.comment(REPO, issue, MAINTAINER, "/approve unverified");
          await world.untilState(issue, "published");
          assert.equal(github.pullRequests(REPO).length, 1);
          assert.match(github.url, /^https:/);
          assert.deepEqual(contractViolations(github.calls()), []);
          const agents = proxy.tunnels.map(({ agent }) => agent.split("/")[0]);
          assert.deepEqual(new Set(proxy.tunnels.map(({ to }) => to)), new Set(proxied ? [github.host] : []));
          assert.equal(agents.includes("git"), proxied, "git goes through it");
          assert.equal(
            agents.some((agent) => agent !== "git"),
            proxied,
            "and so does the API",
          );
        });
      } finally {
        await proxy.close();
      }
    });
