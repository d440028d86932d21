/** The keys of `.github/agent-fix.yml`: their readers, and the words that explain each and how it merges with the operator's settings. */

import { z } from "zod";
import { globProblem } from "./glob.ts";

const MAX_COMMAND = 4_000;
const MAX_INSTRUCTIONS = 20_000;
const MAX_GLOBS = 100;
const MAX_NAMES = 100;

/** The type in words, where zod's own would name a JavaScript class. */
const wanted = (what: string) => ({ error: `must be ${what}` });

const command = z
  .string(wanted("a shell command (one text)"))
  .trim()
  .min(1, "must not be empty")
  .max(MAX_COMMAND, `must have at most ${MAX_COMMAND} characters`)
  .refine((text) => !text.includes("\0"), "must not contain a NUL character");

const directory = z
  .string(wanted("a directory from the repository root"))
  .trim()
  .transform((path) => path.replace(/^(?:\.\/)+/, "").replace(/\/+$/, "") || ".")
  .refine(
    (path) =>
      !/^\/|^[a-z]:|[\\\0]/i.test(path) && !path.split("/").some((part) => part === ".." || part === ".git"),
    "must be a directory inside the repository, with forward slashes and without ..",
  );

/** Git's own rules for a branch name, as far as a name can break them. */
const branch = z
  .string(wanted("a branch name"))
  .refine(
    (name) =>
      name.length > 0 &&
      name.length <= 200 &&
      !/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^[-/.]|[/.]$|\/\.|\.lock(?:\/|$)|^@$|^refs\//.test(name),
    "must be a branch name that git allows, without refs/heads/",
  );

const glob = z.string(wanted("a glob")).superRefine((text, context) => {
  const message = globProblem(text);
  if (message !== null) context.addIssue({ code: "custom", message });
});

const amount = (what: string, max: number) =>
  z
    .number(wanted(`${what}, more than 0`))
    .positive(`must be ${what}, more than 0`)
    .max(max, `must be at most ${max}`);

const approver = z
  .string(wanted("a GitHub login or org/team"))
  .transform((name) => name.replace(/^@/, "").toLowerCase())
  .refine(
    (name) => /^[a-z0-9][a-z0-9_-]{0,99}(?:\/[a-z0-9_][a-z0-9._-]{0,99})?$/.test(name),
    "must be a GitHub login, or a team as org/team",
  );

const host = z
  .string(wanted("a host name"))
  .transform((name) => name.toLowerCase())
  .refine(
    (name) => /^[a-z0-9][a-z0-9.-]{0,252}(?::\d{1,5})?$/.test(name),
    "must be a host name without https:// or wildcard, or host:port",
  );

const listOf = <Member extends z.ZodType>(member: Member, what: string, max: number) =>
  z.array(member, wanted(`a list of ${what}`)).max(max, `must list at most ${max} ${what}`);

export const REPOSITORY_FILE = z.object(
  {
    setup: command
      .nullish()
      .describe(
        "Command that installs what the tests need. Free; it runs in the sandbox, with the network of `network.allow` and nothing else.",
      ),
    test: command
      .nullish()
      .describe("Command that runs the tests. Free; it runs in the sandbox without network."),
    checks: z
      .object(
        {
          lint: command.nullish().describe("Command that lints."),
          format: command.nullish().describe("Command that checks the format."),
          typecheck: command.nullish().describe("Command that checks types."),
        },
        wanted("a map of lint, format, typecheck"),
      )
      .nullish()
      .describe("Further checks. Free."),
    working_directory: directory
      .nullish()
      .describe("Directory, from the root, in which set-up and tests run. Free."),
    target_branch: branch
      .nullish()
      .describe("Branch that runs start from and pull requests go to. Free; unset: the default branch."),
    instructions: z
      .string(wanted("a text"))
      .max(MAX_INSTRUCTIONS, `must have at most ${MAX_INSTRUCTIONS} characters`)
      .nullish()
      .describe("Advice for the model. Free."),
    image: z
      .string(wanted("an image name"))
      .max(300)
      .nullish()
      .describe("Container image. Only one of the operator's `IMAGES_ALLOWED`."),
    model: z
      .string(wanted("a model name"))
      .max(200)
      .nullish()
      .describe("Model. Only one of the operator's `MODELS_ALLOWED`."),
    network: z
      .object(
        {
          allow: listOf(host, "host names", MAX_NAMES)
            .nullish()
            .describe("Host names that set-up may reach."),
        },
        wanted("a map with allow"),
      )
      .nullish()
      .describe(
        "Network of the set-up command: these hosts alone, and of them only those that the operator allows too (see `NETWORK_ALLOW`); an empty list: no network; unset: all that the operator allows. The operator's own registries, which stand in for public ones, stay reachable.",
      ),
    protected: listOf(glob, "globs", MAX_GLOBS)
      .nullish()
      .describe(
        "Paths a pull request of ours may never change. Added to the default ones; case does not matter.",
      ),
    approvers: listOf(approver, "logins and teams", MAX_NAMES)
      .nullish()
      .describe(
        "Who may approve: people with write access who are also listed, by login or by a team of the repository's owner as `org/team` (which the app can look up only when it was granted `members: read`; without an answer nobody is in a team). Read from the default branch only. Unset: everyone with write access.",
      ),
    approver_permission: z
      .enum(["write", "maintain", "admin"], { error: "must be write, maintain or admin" })
      .nullish()
      .describe("The least permission that approving takes. Unset: `write`."),
    budget: z
      .object(
        {
          usd: amount("an amount in US dollars", 100_000).nullish().describe("Money for the model per run."),
          turns: amount("a number of turns", 10_000)
            .int("must be a whole number")
            .nullish()
            .describe("Replies of the model per run."),
          minutes: amount("a number of minutes", 10_000)
            .nullish()
            .describe("Wall-clock time of the agent per run."),
        },
        wanted("a map of usd, turns, minutes"),
      )
      .nullish()
      .describe("Limits per run. The smaller of this and the operator's."),
    gates: listOf(z.enum(["intent", "change"], { error: "must be intent or change" }), "gates", 10)
      .nullish()
      .describe(
        "Where a person decides. Always contains `change`, listed or not. With `intent` an agent that can only read first posts what it would do, in which files, how it would prove it and what that would cost; an approval of it begins the work, within the budget it names.",
      ),
  },
  wanted("a map of settings"),
);

export type RepositoryFile = z.output<typeof REPOSITORY_FILE>;
