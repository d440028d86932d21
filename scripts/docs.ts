/** `npm run docs`: writes the pages of docs/ that are generated from the source. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GeneratedPage } from "./check/docs.ts";
import { renderConfigurationPage } from "./configuration-page.ts";
import { renderSecurityPage, SECURITY_PAGE } from "./security-page.ts";

const ROOT = join(import.meta.dirname, "..");

export function generatedPages(): readonly GeneratedPage[] {
  const security = readFileSync(join(ROOT, SECURITY_PAGE), "utf8");
  return [
    { path: "docs/configuration.md", text: renderConfigurationPage(), command: "npm run docs" },
    { path: SECURITY_PAGE, text: renderSecurityPage(security), command: "npm run docs" },
  ];
}

if (import.meta.main) {
  for (const page of generatedPages()) {
    writeFileSync(join(ROOT, page.path), page.text);
    console.log(`wrote ${page.path}`);
  }
}
