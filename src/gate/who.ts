/** Who may do what: a pure ruling over what GitHub said of a person at that moment. */

/** Permission as GitHub's collaborator-permission endpoint gave it at the time of the command; `unknown`: the look-up failed, which is a no. */
export type KnownPermission = "admin" | "maintain" | "write" | "triage" | "read" | "none" | "unknown";

/** What the repository file says of those who approve, read at the base commit. */
export interface Approvers {
  /** The least permission; never below write. */
  readonly least: "write" | "maintain" | "admin";
  /** Lower-case logins and `org/team`; null: everyone with that permission. */
  readonly listed: readonly string[] | null;
}

export const EVERYONE_WHO_WRITES: Approvers = { least: "write", listed: null };

export interface WhoFacts {
  readonly login: string;
  readonly permission: KnownPermission;
  readonly approvers: Approvers;
  /** Those of the listed teams that GitHub says the person is an active member of; a failed look-up is no membership. */
  readonly teams: readonly string[];
}

/** `decide`: start a run, revise, retry, cancel. `approve`: let a plan be published, or the work of an intent begin. */
export type Deed = "decide" | "approve";

export interface Ruling {
  readonly allow: boolean;
  /** A sentence for the person. */
  readonly because: string;
}

const RANKS: readonly KnownPermission[] = ["unknown", "none", "read", "triage", "write", "maintain", "admin"];

export function mayDecide(permission: KnownPermission): boolean {
  return RANKS.indexOf(permission) >= RANKS.indexOf("write");
}

/** Whether a refusal is explained in words, or only by a reaction. */
export function isExplained(permission: KnownPermission): boolean {
  return mayDecide(permission) || permission === "triage";
}

/** Bots, this app among them, and the account that stands for deleted people decide nothing, whatever rights they have. */
function isNobody(login: string): boolean {
  return login === "" || /\[bot\]$/i.test(login) || login.toLowerCase() === "ghost";
}

export function ruling(facts: WhoFacts, deed: Deed): Ruling {
  const { login, permission } = facts;
  if (isNobody(login)) return no(`${login || "A deleted account"} is no person who could decide here.`);
  if (permission === "unknown")
    return no(
      `I could not check what ${login} may do in this repository, so nothing happened. Please try again.`,
    );
  if (!mayDecide(permission))
    return no(
      `This needs write access to the repository; ${login} has ${permission === "none" ? "no" : permission} access.`,
    );
  return deed === "approve"
    ? mayApprove(facts)
    : { allow: true, because: `${login} has ${permission} access.` };
}

function mayApprove({ login, permission, approvers, teams }: WhoFacts): Ruling {
  const { least, listed } = approvers;
  if (RANKS.indexOf(permission) < RANKS.indexOf(least))
    return no(
      `\`.github/agent-fix.yml\` asks for ${least} access to approve; ${login} has ${permission} access.`,
    );
  if (listed === null) return { allow: true, because: `${login} has ${permission} access.` };
  if (listed.includes(login.toLowerCase()))
    return { allow: true, because: `${login} is listed and has ${permission} access.` };
  const team = listed.find((name) => name.includes("/") && teams.includes(name));
  if (team !== undefined)
    return { allow: true, because: `${login} is in ${team} and has ${permission} access.` };
  return no(
    `\`.github/agent-fix.yml\` names who approves here (${listed.join(", ")}), and ${login} is not among them.`,
  );
}

function no(because: string): Ruling {
  return { allow: false, because };
}
