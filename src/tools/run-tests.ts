/** The tool run_tests: the repository's own suite, run by the function the caller hands in. */

import { z } from "zod";
import type { Tool } from "#src/harness/tool.ts";
import { done, type ToolSetup } from "./setup.ts";

const schema = z.object({
  filter: z.string().optional().describe("Only tests or test files like this; default: the whole suite"),
});

export function runTestsTool(runTests: ToolSetup["runTests"]): Tool<z.infer<typeof schema>> {
  return {
    name: "run_tests",
    description:
      "Runs the repository's test suite and answers with its counts and the failing tests with their messages. Use it before and after your change.",
    schema,
    readOnly: false,
    run: async (args, { signal }) => {
      const filter = args.filter?.trim() ?? "";
      return done(await runTests(filter === "" ? null : filter, signal));
    },
  };
}
