/** The one word that starts a run. */

/** Compared exactly with `payload.label.name`. */
export const LABEL = "agent-fix";
