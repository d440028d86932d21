/** Looks for secrets wherever they must not be: what people see, what the model saw, what was logged, and the whole of DATA_DIR. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { APP_ENV } from "#src/config/env-file.ts";
import type { Outside } from "#test/support/outside.ts";

/** One line for each place that holds a secret; call it when the server has stopped. `repos` are the repositories that were used. */
export function secretsSeen(world: Outside, repos: readonly string[]): readonly string[] {
  const needles = needlesOf(world);
  const holds = (text: string) => needles.find(({ needle }) => text.includes(needle))?.name ?? null;
  const places: readonly (readonly [string, string])[] = [
    ["the server's output", world.output()],
    ["what the model was sent", JSON.stringify(world.model.requests().map((request) => request.body))],
    ...repos.flatMap((repo) => whatPeopleSee(world, repo)),
  ];
  return [
    ...places.flatMap(([place, text]) => {
      const name = holds(text);
      return name === null ? [] : [`${place} holds the ${name}`];
    }),
    ...filesOf(world.dataDir).flatMap((path) => {
      // Latin-1 keeps every byte, so that databases and archives are searched too.
      const name = path.endsWith(`/${APP_ENV}`) ? null : holds(readFileSync(path, "latin1"));
      return name === null ? [] : [`the file ${path} holds the ${name}`];
    }),
  ];
}

function whatPeopleSee({ github }: Outside, repo: string): readonly (readonly [string, string])[] {
  const pulls = github.pullRequests(repo);
  const numbers = new Set(pulls.map((pull) => pull.number));
  // Issues and pull requests share their numbers, which have no gaps.
  const last = Math.max(0, ...numbers) + 20;
  for (let number = 1; number <= last; number++) numbers.add(number);
  return [...numbers].flatMap((number) => {
    try {
      const seen = [github.issue(repo, number), github.comments(repo, number)];
      return [[`${repo}#${number}`, JSON.stringify(seen)] as const];
    } catch {
      return []; // There is no such number.
    }
  });
}

interface Needle {
  readonly name: string;
  readonly needle: string;
}

/** Every secret raw, in base64 and as it stands in a URL; a key by its single lines, since its line ends may be written differently. */
function needlesOf({ secrets, github }: Outside): readonly Needle[] {
  const texts = [
    ...secrets.privateKey
      .split("\n")
      .filter((line) => line.length > 40 && !line.startsWith("-"))
      .map((needle) => ({ name: "private key", needle })),
    { name: "webhook secret", needle: secrets.webhookSecret },
    { name: "model key", needle: secrets.openaiKey },
    ...github.tokens().map(({ token }) => ({ name: "installation token", needle: token })),
  ];
  return texts.flatMap(({ name, needle }) => [
    { name, needle },
    { name: `${name} (URL-encoded)`, needle: encodeURIComponent(needle) },
    ...[needle, `x-access-token:${needle}`, `:${needle}`].map((text) => ({
      name: `${name} (base64)`,
      needle: Buffer.from(text).toString("base64").replace(/=+$/, "").slice(0, -1),
    })),
  ]);
}

function filesOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
