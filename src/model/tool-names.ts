/** Makes a tool name that a provider sent safe to look up and to send back. */

/** What every provider accepts as a function name. */
const ACCEPTED = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_LENGTH = 64;
const NAMELESS = "unnamed_tool";

/**
 * Cuts at the first control token (`read_file<|channel|>commentary`, FAULTS A26), drops the `functions.` prefix of some
 * chat templates when a known tool remains, and replaces what providers refuse. The result matches `^[a-zA-Z0-9_-]{1,64}$`;
 * whether such a tool exists is for the caller to tell the model.
 */
export function cleanToolName(raw: string, toolNames: ReadonlySet<string>): string {
  if (toolNames.has(raw) && ACCEPTED.test(raw)) return raw;
  const [beforeToken = ""] = raw.split("<|", 1);
  const name = beforeToken.trim();
  const unprefixed = name.replace(/^functions\./, "").replace(/:\d+$/, "");
  if (toolNames.has(unprefixed)) return unprefixed;
  const accepted = name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, MAX_LENGTH);
  return accepted === "" ? NAMELESS : accepted;
}
