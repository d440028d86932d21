/** A real browser for pages: the machine's Chromium without a window, driven over its own protocol. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { processEnvironment } from "#src/config/environment.ts";
import { skipUnless } from "./tier.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Path of the browser; null: there is none. */
const BROWSER =
  (processEnvironment().PATH ?? "")
    .split(delimiter)
    .flatMap((directory) => NAMES.map((name) => join(directory, name)))
    .find((path) => existsSync(path)) ?? null;

/** For `skip`: false where there is a browser. */
export const NO_BROWSER = skipUnless(
  BROWSER !== null,
  "no Chromium (scripts/setup-system.sh browser installs it)",
);

/** The caller closes it. Root cannot start Chromium's own sandbox; what it shows here is ours. */
export function openBrowser(): Promise<Browser> {
  if (BROWSER === null) throw new Error("there is no browser; skip with NO_BROWSER");
  const args = ["--disable-gpu", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])];
  return chromium.launch({ executablePath: BROWSER, args });
}
