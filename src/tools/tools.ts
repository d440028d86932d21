/** The tools of one agent session, in the order the model is told of them. */

import { systemClock } from "#src/base/clock.ts";
import type { Tool } from "#src/harness/tool.ts";
import { editFileTool } from "./edit-file.ts";
import { createFiles } from "./files.ts";
import { findDefinitionTool } from "./find-definition.ts";
import { listDirTool } from "./list-dir.ts";
import { readFileTool } from "./read-file.ts";
import { runCommandTool } from "./run-command.ts";
import { runTestsTool } from "./run-tests.ts";
import { searchTool } from "./search.ts";
import { createSeen, type ToolSetup } from "./setup.ts";
import { updateTodosTool } from "./update-todos.ts";

/** Every tool over one session and its workspace; nothing is opened until a tool runs, nothing needs closing. */
export function createTools(setup: ToolSetup): readonly Tool[] {
  const files = createFiles(setup.directory, setup.owner);
  const seen = createSeen();
  return [
    readFileTool(files, seen),
    listDirTool(setup.session, files),
    searchTool(setup.session, files),
    findDefinitionTool({ session: setup.session, files, clock: setup.clock ?? systemClock }),
    editFileTool(files, seen, setup.onEdit),
    runCommandTool(setup.session),
    runTestsTool(setup.runTests),
    updateTodosTool(),
  ];
}
