/** Run requests for store tests, with only what differs named. */

import type { RunRequest } from "#src/run/run.ts";

export function runRequest(runId: string, issue = 1, repositoryId = 7): RunRequest {
  return {
    runId,
    repository: {
      id: repositoryId,
      owner: "octo",
      name: "demo",
      cloneUrl: "https://github.example/octo/demo.git",
      defaultBranch: "main",
      private: false,
    },
    installationId: 3,
    issue: {
      number: issue,
      title: "add() is wrong",
      body: "It subtracts.",
      author: "reporter",
      updatedAt: 0,
    },
    askedBy: "maintainer",
    trigger: "label",
    parent: null,
    budgetUsd: null,
  };
}
