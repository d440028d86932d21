/** The tool update_todos: replaces the list of what is left to do, and answers with it. */

import { z } from "zod";
import { headOf } from "#src/base/cut-text.ts";
import type { Tool } from "#src/harness/tool.ts";
import { done } from "./setup.ts";

const MOST_ITEMS = 50;
const ITEM_CHARS = 300;
const MARKS: Readonly<Record<string, string>> = {
  done: "[x]",
  completed: "[x]",
  complete: "[x]",
  in_progress: "[~]",
  active: "[~]",
};

/** Models spell items in several ways they were taught; all of these are taken. */
const item = z.union([
  z.string(),
  z.object({
    text: z.string().optional(),
    content: z.string().optional(),
    title: z.string().optional(),
    status: z.string().optional().describe("todo, in_progress or done"),
    done: z.union([z.boolean(), z.enum(["true", "false"])]).optional(),
  }),
]);

const schema = z.object({
  items: z.array(item).max(MOST_ITEMS).describe("The whole list, in order; plain text or {text, status}"),
});

function line(entry: z.infer<typeof item>): string {
  if (typeof entry === "string")
    return /^\[[ x~]\]/.test(entry) ? headOf(entry, ITEM_CHARS) : `[ ] ${headOf(entry, ITEM_CHARS)}`;
  const text = entry.text ?? entry.content ?? entry.title ?? "(no text)";
  const mark =
    entry.done === true || entry.done === "true"
      ? "[x]"
      : (MARKS[entry.status?.toLowerCase() ?? ""] ?? "[ ]");
  return `${mark} ${headOf(text, ITEM_CHARS)}`;
}

export function updateTodosTool(): Tool<z.infer<typeof schema>> {
  return {
    name: "update_todos",
    description:
      "Replaces your list of steps and answers with it. For work of several steps; nobody else reads it.",
    schema,
    readOnly: false,
    run: async (args) => {
      const lines = args.items.map((entry) => line(entry).replace(/\s*\n\s*/g, " "));
      return done(lines.length === 0 ? "The list is empty." : lines.join("\n"));
    },
  };
}
