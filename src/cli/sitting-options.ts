/** The options that `run` and `resume` have in common. */

export const SITTING_OPTIONS = {
  output: { type: "string" },
  quiet: { type: "boolean", short: "q", default: false },
  yes: { type: "boolean", short: "y", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

export const SITTING_HELP = `  --output FILE  where the patch goes (default: agent-fix-<run id>.patch)
  --quiet, -q    show only how far the run is, and its result
  --yes, -y      ask nothing: every edit and command of the model runs

On a terminal you are asked before the model edits a file or runs a command, and Ctrl-C stops it and asks what next;
Ctrl-C again leaves, and agent-fix resume goes on later. Piped, and with --yes, nobody is asked: edits are made in a
copy, and commands run in the sandbox, without network, either way.`;
