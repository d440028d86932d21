/** The host that the attacks are aimed at: planted secrets, files, services and a bystander, and a look at whether any was touched. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { environmentOfTheApp } from "#test/sandbox/rig.ts";
import { tempDir } from "#test/support/temp-dir.ts";

export interface Host {
  /** What an attacker could know at worst. */
  readonly env: Readonly<Record<string, string>>;
  /** Where a file that the next attack may read is planted: `DATA_DIR/runs/<run>/...`. */
  readonly secrets: readonly string[];
  /** What was touched, seen or killed since the last look; empty when everything held. `text` is what the attack printed. */
  problems(text: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Every kind of place a secret lies in has its own, so that a leak tells where it came from. */
function canary(): string {
  return `CANARY${randomBytes(16).toString("hex")}`;
}

export async function createHost(dataDir: string): Promise<Host> {
  const outside = await tempDir("outside-");
  const [inFiles, inMemory, inArgv, inEnvironment, byService] = [
    canary(),
    canary(),
    canary(),
    canary(),
    canary(),
  ];
  const secrets = [inFiles, inMemory, inArgv, inEnvironment, byService];
  // A copy on the heap that lives as long as the host does.
  const memory = Buffer.from(inMemory.repeat(64));
  plantData(dataDir, inFiles);
  plantOutside(outside.path, inFiles);
  const bystander = spawn("sleep", ["3600"], {
    argv0: `sleep-${inArgv}`,
    env: { SECRET: inEnvironment },
    stdio: "ignore",
  });
  const services = await startServices(join(outside.path, "socket"), byService);
  const before = snapshot([outside.path, dataDir]);
  const planted = [...secrets.flatMap(spellings), ...(await environmentOfTheApp())];
  return {
    secrets,
    env: {
      ...services.env,
      APP: String(process.pid),
      BYSTANDER: String(bystander.pid),
      DATA_DIR: dataDir,
      OUTSIDE: outside.path,
      SOCKET: join(outside.path, "socket"),
    },
    problems: async (text) => {
      const lines = text.split("\n");
      const after = snapshot([outside.path, dataDir]);
      return [
        ...lines.filter((line) => line.startsWith("BREACH")),
        ...planted
          .filter((one) => (one.startsWith("CANARY") ? text.includes(one) : lines.includes(one)))
          .map((one) => `seen: ${one.slice(0, 24)}`),
        ...difference(before, after),
        ...services.reached().map((name) => `reached: ${name}`),
        ...(isAlive(bystander) ? [] : ["the bystander is dead"]),
        ...(memory.length > 0 ? [] : ["unreachable"]),
      ];
    },
    close: async () => {
      bystander.kill("SIGKILL");
      await services.close();
      await outside.remove();
    },
  };
}

function spellings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [secret, bytes.toString("hex"), bytes.toString("base64").replace(/=+$/, "").slice(0, -1)];
}

function isAlive(child: ChildProcess): boolean {
  if (child.exitCode !== null || child.signalCode !== null) return false;
  return !/^State:\s+T/m.test(readFileSync(`/proc/${child.pid}/status`, "utf8"));
}

/** DATA_DIR as it is in the middle of the work, with another run beside the attacker's. */
function plantData(dataDir: string, secret: string): void {
  const files = {
    "app.env": `PRIVATE_KEY=${secret}\nWEBHOOK_SECRET=${secret}\n`,
    "state.db": `SQLite ${secret}`,
    "traces/other.jsonl": `{"secret":"${secret}"}\n`,
    "mirrors/42.git/config": `[remote "origin"]\n\turl = ${secret}\n`,
    "runs/other/work/solve/secret.txt": secret,
    "runs/other/pristine.git/HEAD": `ref: refs/heads/${secret}\n`,
  };
  for (const [path, text] of Object.entries(files)) plant(join(dataDir, path), text);
}

/** Everyone may write here: what keeps the attacker out is the sandbox, not a permission. */
function plantOutside(path: string, secret: string): void {
  mkdirSync(join(path, "directory"));
  for (const name of ["file", "directory/file"]) plant(join(path, name), secret);
  for (const name of [".", "directory"]) chmodSync(join(path, name), 0o777);
  for (const name of ["file", "directory/file"]) chmodSync(join(path, name), 0o666);
}

function plant(path: string, text: string): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
}

/** Session directories of the sandbox come and go; everything else must stay as it is. */
const OWN = /\/runs\/(?!other)|\/workspace-\d+(?:\/|$)/;

function snapshot(roots: readonly string[]): ReadonlyMap<string, string> {
  const seen = new Map<string, string>();
  const look = (path: string) => {
    const facts = lstatSync(path);
    if (facts.isDirectory()) {
      seen.set(path, `directory ${facts.mode}`);
      for (const name of readdirSync(path)) if (!OWN.test(join(path, name))) look(join(path, name));
    } else if (facts.isFile()) seen.set(path, `${facts.mode} ${facts.nlink} ${readFileSync(path, "latin1")}`);
    else seen.set(path, `${facts.mode} ${facts.isSymbolicLink() ? readlinkSync(path) : ""}`);
  };
  for (const root of roots) look(root);
  return seen;
}

function difference(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).map((path) => `changed: ${path}`);
}

interface Services {
  readonly env: Readonly<Record<string, string>>;
  /** Names of services that got something since the last call. */
  reached(): readonly string[];
  close(): Promise<void>;
}

async function startServices(socket: string, secret: string): Promise<Services> {
  const hits: string[] = [];
  const serve = (name: string) =>
    createServer((client) => {
      hits.push(name);
      client.on("error", () => client.destroy());
      client.end(secret);
    });
  const servers: readonly [string, Server][] = ["tcp", "tcp6", "abstract", "path"].map((name) => [
    name,
    serve(name),
  ]);
  const [tcp, tcp6, abstract, path] = servers.map(([, server]) => server) as [Server, Server, Server, Server];
  const name = `agent-fix-attack-${randomBytes(6).toString("hex")}`;
  await listen(tcp, { port: 0, host: "127.0.0.1" });
  // A machine without IPv6 has nothing to reach there.
  const hasIpv6 = await listen(tcp6, { port: 0, host: "::1" }).then(
    () => true,
    () => false,
  );
  await listen(abstract, { path: `\0${name}` });
  await listen(path, { path: socket });
  chmodSync(socket, 0o777);
  const udp = createSocket("udp4", () => hits.push("udp"));
  await new Promise<void>((resolve) => udp.bind(0, "0.0.0.0", resolve));
  return {
    env: {
      PORT: String(portOf(tcp)),
      PORT6: String(hasIpv6 ? portOf(tcp6) : portOf(tcp)),
      UDP: String(udp.address().port),
      ABSTRACT: name,
    },
    reached: () => hits.splice(0),
    close: async () => {
      udp.close();
      await Promise.all(
        servers
          .filter(([, server]) => server.listening)
          .map(([, server]) => new Promise((resolve) => server.close(resolve))),
      );
    },
  };
}

function listen(server: Server, at: Parameters<Server["listen"]>[0]): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(at, () => resolve());
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
