/** Renders docs/configuration.md from the settings table and the schema of the repository file. */

import { z } from "zod";
import { DEFAULT_PROTECTED } from "#src/config/protected-paths.ts";
import { REPOSITORY_FILE } from "#src/config/repository-schema.ts";
import { SETTINGS, type Setting } from "#src/config/settings.ts";

const HEAD = `<!-- Written by \`npm run docs\` from src/config/settings.ts and src/config/repository-schema.ts: change those. -->

# Configuration

The operator configures agent-fix by environment variables; a repository may tighten that by a file of its own.
Everything is read once at start. When something is missing or wrong, the program lists all problems, each with its
remedy, and ends with exit code 1 before it opens anything. An empty variable counts as unset.

Values that the set-up page wrote are in \`DATA_DIR/app.env\` (readable by its owner only); a variable of the real
environment wins over that file.

## Environment
`;

const REPOSITORY_HEAD = `## Repository file

\`.github/agent-fix.yml\`, read from the default branch at the commit a run starts from; what the agent changes in it has no
effect on the run. Every key is optional. A repository can only tighten what the operator allows. Keys that are not
listed here have no effect and are named in the plan; a wrong value ends the run with a comment that lists them all.
YAML aliases are refused, and so is a file of more than 32,768 characters.

| key | what it does, and how it merges |
| --- | --- |
`;

const EXAMPLE = `
\`\`\`yaml
test: npm test
working_directory: packages/parser
protected: [migrations/**]
budget: { usd: 2, minutes: 20 }
\`\`\`

### Default protected paths

`;

export function renderConfigurationPage(): string {
  const groups = [...new Set(Object.values(SETTINGS).map((setting) => setting.group))];
  const tables = groups.map((group) => {
    const rows = Object.entries(SETTINGS).filter(([, setting]) => setting.group === group);
    return `### ${group}\n\n| variable | default | what it does |\n| --- | --- | --- |\n${rows.map(([name, setting]) => settingRow(name, setting)).join("")}`;
  });
  const globs = DEFAULT_PROTECTED.map((glob) => `\`${glob}\``).join(", ");
  return `${HEAD}\n${tables.join("\n")}\n${REPOSITORY_HEAD}${keyRows(REPOSITORY_FILE, "")}${EXAMPLE}${globs}.\n`;
}

function settingRow(name: string, setting: Setting): string {
  const marks = [
    ...(setting.secret === true ? ["Secret: never logged."] : []),
    ...(setting.unsupported === "refuse" ? ["Not in this version: refused when set."] : []),
    ...(setting.unsupported === "ignore" ? ["Not in this version: no effect."] : []),
  ];
  const fallback = setting.fallback === null ? "–" : `\`${setting.fallback.replaceAll(",", ", ")}\``;
  return `| \`${name}\` | ${fallback} | ${cell([setting.about, ...marks].join(" "))} |\n`;
}

function keyRows(schema: z.ZodObject, prefix: string): string {
  return Object.entries(schema.shape)
    .map(([key, member]) => {
      const field = member as z.ZodType;
      const inner = unwrap(field);
      const own = `| \`${prefix}${key}\` | ${cell(field.description ?? "")} |\n`;
      return inner instanceof z.ZodObject ? own + keyRows(inner, `${prefix}${key}.`) : own;
    })
    .join("");
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return unwrap(schema.unwrap() as z.ZodType);
  return schema;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
