/** What can be chosen on the demo's command line. */

import { parseArgs } from "node:util";
import { err, ok, type Result } from "#src/base/result.ts";
import { SCENARIOS, type Scenario } from "./scripts.ts";

export const USAGE = `agent-fix demo: the whole job on this machine, without an account, a key or a network.

  --scenario NAME   ${SCENARIOS.join(", ")} (default: good)
  --web             as pages in a browser: set the label, read, answer, merge
  --port NUMBER     port of these pages on 127.0.0.1 (default: any free one)
  --interactive     in the terminal, you are the maintainer: type /approve, /revise <text>, /cancel ...
  --real-model      use the model that MODEL_API, its key and OPENAI_MODEL name
  --keep            keep the demo's directory, with its trace, for a look`;

export interface Choices {
  readonly scenario: Scenario;
  /** Who plays the maintainer: the demo itself, somebody at the keyboard, or visitors of the pages. */
  readonly maintainer: "played" | "keyboard" | "web";
  /** 0: any free one. */
  readonly port: number;
  readonly realModel: boolean;
  readonly keep: boolean;
}

/** `help` when that was asked for; the error says what is wrong and what there is. Throws for options that do not exist, as parseArgs does. */
export function readChoices(args: readonly string[]): Result<Choices | "help", string> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scenario: { type: "string", default: "good" },
      web: { type: "boolean", default: false },
      port: { type: "string" },
      interactive: { type: "boolean", default: false },
      "real-model": { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return ok("help");
  const scenario = SCENARIOS.find((known) => known === values.scenario);
  if (scenario === undefined) {
    const named = JSON.stringify(values.scenario);
    return err(`There is no scenario ${named}; there are ${SCENARIOS.join(", ")}.`);
  }
  if (values.web && values.interactive) return err("--web and --interactive exclude each other; choose one.");
  if (values.port !== undefined && !values.web) return err("--port is for --web.");
  const port = values.port ?? "0";
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) return err("--port takes a number from 0 to 65535.");
  const maintainer = values.web ? "web" : values.interactive ? "keyboard" : "played";
  return ok({ scenario, maintainer, port: Number(port), realModel: values["real-model"], keep: values.keep });
}
