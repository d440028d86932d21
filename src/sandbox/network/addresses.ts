/** Which hosts a session with a network may reach: the allow-list and the addresses that are never public. Pure. */

import { BlockList, isIP } from "node:net";

/** A host and port as a client asked for it. */
export interface Target {
  /** Lower case, without brackets or a final dot. */
  readonly host: string;
  readonly port: number;
}

export type Decision =
  /** `privateToo`: the operator named this very host and port, so it may be a private address and need not speak TLS. */
  | { readonly allowed: true; readonly privateToo: boolean }
  | { readonly allowed: false; readonly because: string };

const DEFAULT_PORTS = [80, 443];
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;

/** `host:port` or `[v6]:port`; null when it is neither. */
export function parseTarget(text: string): Target | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  const host = normalHost(match?.[1] ?? match?.[2] ?? "");
  if (host === null || port < 1 || port > 65_535) return null;
  return { host, port };
}

/** Null when it is neither a name nor an address. */
export function normalHost(text: string): string | null {
  const host = text
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
  return isIP(host) !== 0 || HOST_NAME.test(host) ? host : null;
}

/** The rules are `host` (ports 80 and 443, public addresses only) and `host:port` (this port only, any address). */
export function decide(target: Target, rules: readonly string[]): Decision {
  const exact = rules.some((rule) => {
    const parsed = parseTarget(rule);
    return parsed !== null && parsed.host === target.host && parsed.port === target.port;
  });
  if (exact) return { allowed: true, privateToo: true };
  const named = rules.some((rule) => parseTarget(rule) === null && normalHost(rule) === target.host);
  if (named && DEFAULT_PORTS.includes(target.port)) return { allowed: true, privateToo: false };
  const shown = named ? `${target.host}:${target.port}` : target.host;
  return {
    allowed: false,
    because: `${shown} is not on the list of hosts that set-up may reach; an operator can add it to NETWORK_ALLOW, and a repository's own network.allow must not leave it out`,
  };
}

/** True when a rule names a loopback host, which clients then have to reach through the proxy too. */
export function listsLoopback(rules: readonly string[]): boolean {
  return rules.some((rule) => {
    const host = parseTarget(rule)?.host ?? normalHost(rule) ?? "";
    return host === "localhost" || host === "::1" || host.startsWith("127.");
  });
}

const NOT_PUBLIC_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];
/** Includes the forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo): a registry has no need of them. */
const NOT_PUBLIC_V6 = [
  "::/96",
  "::ffff:0:0/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
];

/** One list per family: in a common one, the range of mapped addresses would match every IPv4 address. */
function blockList(family: "ipv4" | "ipv6"): BlockList {
  const list = new BlockList();
  for (const range of family === "ipv4" ? NOT_PUBLIC_V4 : NOT_PUBLIC_V6) {
    const [network = "", bits = "0"] = range.split("/");
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}

/** True only for addresses that are reachable on the public Internet; false also for what is no address. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const family = isIP(address) === 4 ? "ipv4" : "ipv6";
  return !blockList(family).check(address, family);
}
