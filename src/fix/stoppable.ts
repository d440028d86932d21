/** Ports for work that can be stopped: after that, nothing more is begun with them, whatever the work's own code looks at. */

import type { FixPorts } from "./ports.ts";

/** Calls to workspaces and sandbox throw the signal's reason once it is aborted; what is under way ends by its own means. */
export function stoppable(ports: FixPorts, signal: AbortSignal): FixPorts {
  const unlessStopped =
    <Given extends readonly unknown[], Back>(begin: (...given: Given) => Back) =>
    (...given: Given): Back => {
      signal.throwIfAborted();
      return begin(...given);
    };
  const { workspaces, sandbox } = ports;
  return {
    ...ports,
    sandbox: { ...sandbox, open: unlessStopped(sandbox.open) },
    workspaces: {
      ...workspaces,
      fetch: unlessStopped(workspaces.fetch),
      checkout: unlessStopped(workspaces.checkout),
      copy: unlessStopped(workspaces.copy),
      applyTree: unlessStopped(workspaces.applyTree),
      dirtyPaths: unlessStopped(workspaces.dirtyPaths),
      buildTree: unlessStopped(workspaces.buildTree),
      merge: unlessStopped(workspaces.merge),
      packTree: unlessStopped(workspaces.packTree),
      adoptTree: unlessStopped(workspaces.adoptTree),
      scratch: unlessStopped(workspaces.scratch),
    },
  };
}
