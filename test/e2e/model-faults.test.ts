/** Models that cannot be reached, refuse, or answer nonsense: the run ends in words that say what the operator can do. */

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { closedPort } from "#test/support/closed-port.ts";
import { taskOf } from "#test/support/model-turns.ts";
import { LABEL, MAINTAINER, type Outside, REPO, startOutside } from "#test/support/outside.ts";
import { SMALL_FILES } from "#test/support/small-job.ts";
import { sample, testPart } from "#test/support/tier.ts";

/** Answers by a word in the issue's title. */
const ANSWERS: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
  refuses: (_, response) =>
    json(response, 401, { error: { message: "Incorrect API key provided", code: "invalid_api_key" } }),
  unknown: (_, response) =>
    json(response, 404, { error: { message: "The model does not exist", code: "model_not_found" } }),
  page: (_, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<html><body>Welcome to the router!</body></html>");
  },
  garbage: (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(
      'data: {"choices": [{"delta": {"content": "I thi\n\ndata: \u0000\u0001\n\n%%%\n\ndata: [DONE]\n\n',
    );
  },
  silence: (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end("data: [DONE]\n\n");
  },
  babble: (_, response) => stream(response, { content: "Potato. Potato. Potato." }, "stop"),
  inventions: (_, response) =>
    stream(
      response,
      {
        tool_calls: [
          { index: 0, id: "c1", type: "function", function: { name: "hack_planet", arguments: "{{{" } },
        ],
      },
      "tool_calls",
    ),
};

interface Case {
  readonly title: keyof typeof ANSWERS & string;
  readonly code: RegExp;
  readonly says: RegExp;
}

const CASES: readonly Case[] = [
  { title: "refuses", code: /the model could not be used/, says: /401|key/i },
  { title: "unknown", code: /the model could not be used/, says: /model/i },
  { title: "page", code: /the model could not be used/, says: /./ },
  { title: "garbage", code: /the model could not be used/, says: /./ },
  { title: "silence", code: /the model could not be used|no changes/, says: /./ },
  { title: "babble", code: /no changes to propose/, says: /without changing anything[\s\S]*Potato/ },
  { title: "inventions", code: /no progress|budget/, says: /./ },
];

describe("models that fail", { concurrency: true }, () => {
  let world: Outside;
  let server: ReturnType<typeof createServer>;

  before(async () => {
    server = createServer((request, response) => {
      answer(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    world = await startOutside({
      script: () => ({ text: "not asked" }),
      files: SMALL_FILES,
      env: { CONCURRENCY: "7", OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` },
    });
  });
  after(async () => {
    try {
      await world.finish();
    } finally {
      await world.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  for (const { title, code, says } of sample(CASES, 1)) {
    test(`a model that answers with ${title}`, async () => {
      const issue = world.openIssue({ title });
      world.github.label(REPO, issue, MAINTAINER, LABEL);
      const { body } = await endOf(world, issue);
      assert.match(body, code);
      assert.match(body, says);
      assert.ok(!body.includes(world.secrets.openaiKey));
    });
  }

  testPart(0.5)(
    "a model that is not there ends the run, after some tries, with the address that did not answer",
    async () => {
      const port = await closedPort();
      const world = await startOutside({
        script: () => ({ text: "not asked" }),
        files: SMALL_FILES,
        env: { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` },
      });
      try {
        const issue = world.openIssue();
        world.github.label(REPO, issue, MAINTAINER, LABEL);
        const { body } = await endOf(world, issue);
        assert.match(body, /the model could not be used/);
        assert.match(body, new RegExp(`127\\.0\\.0\\.1:${port}`));
        await world.finish();
      } finally {
        await world.close();
      }
    },
  );
});

/** The one comment of a run that ends without a pull request; asserts that it and the status comment are all. */
async function endOf(world: Outside, issue: number): Promise<{ readonly body: string }> {
  const { github } = world;
  const result = await world.untilComment(issue, "answer");
  await world.untilState(issue, "failed");
  await world.untilComment(issue, "status", { text: /ended without a pull request/ });
  assert.match(result.body, /^## No pull request: /m);
  assert.deepEqual(
    world.comments(issue).map((comment) => comment.marker.kind),
    ["status", "answer"],
  );
  assert.deepEqual([...(await github.git(REPO).refs()).keys()], ["refs/heads/main"]);
  return result;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const { messages } = JSON.parse(Buffer.concat(parts).toString("utf8")) as {
    messages: Parameters<typeof taskOf>[0];
  };
  const task = taskOf(messages);
  const title = Object.keys(ANSWERS).find((word) => task.includes(word)) ?? "silence";
  ANSWERS[title]?.(request, response);
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function stream(response: ServerResponse, delta: object, finish: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunk = (change: object, reason: string | null) =>
    `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", model: "scripted", choices: [{ index: 0, delta: change, finish_reason: reason }] })}\n\n`;
  response.end(`${chunk(delta, null)}${chunk({}, finish)}data: [DONE]\n\n`);
}
