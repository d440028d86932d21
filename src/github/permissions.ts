/** What a token of each purpose may do, what an installation lacks for it, and a person's role: pure. */

import type { Permission } from "./github.ts";
import type { TokenPhase } from "./github-app.ts";

export type PermissionSet = Readonly<Record<string, "read" | "write">>;

/** A token's purpose: the phases of a run, git over https, and the list of an installation's repositories. */
export type Purpose = TokenPhase | "git" | "list";

export const PERMISSIONS: Readonly<Record<Purpose, PermissionSet>> = {
  list: { metadata: "read" },
  look: { metadata: "read", contents: "read", issues: "read", pull_requests: "read" },
  team: { metadata: "read", members: "read" },
  checks: { metadata: "read", checks: "read" },
  statuses: { metadata: "read", statuses: "read" },
  git: { metadata: "read", contents: "read" },
  read: { metadata: "read", contents: "read", issues: "write" },
  discuss: { metadata: "read", contents: "read", issues: "write", pull_requests: "write" },
  write: { metadata: "read", contents: "write", issues: "write", pull_requests: "write" },
};

const LEVELS: readonly string[] = ["none", "read", "write", "admin"];

/** The wanted permissions that `granted` does not cover, each as `name: level`; metadata comes with every installation. */
export function missingPermissions(
  wanted: PermissionSet,
  granted: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.entries(wanted)
    .filter(([name]) => name !== "metadata")
    .filter(([name, level]) => LEVELS.indexOf(granted[name] ?? "none") < LEVELS.indexOf(level))
    .map(([name, level]) => `${name}: ${level}`);
}

/** The collaborator-permission answer, as far as it is used. */
export interface CollaboratorAnswer {
  /** The base: admin, write, read or none. maintain shows as write and triage as read. */
  readonly permission: string;
  /** The exact role, or the name of an organization's custom role. */
  readonly role_name?: string;
  readonly user?: { readonly permissions?: Readonly<Record<string, boolean>> } | null;
}

/** The role by its own name; a custom role by its base. The finer name never raises anyone above the base that GitHub states. */
export function roleOf(answer: CollaboratorAnswer): Permission {
  const flags = answer.user?.permissions;
  switch (answer.permission) {
    case "admin":
      return "admin";
    case "write":
      return answer.role_name === "maintain" || flags?.maintain === true ? "maintain" : "write";
    case "read":
      return answer.role_name === "triage" || flags?.triage === true ? "triage" : "read";
    default:
      return "none";
  }
}
