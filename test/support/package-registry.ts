/** A small package registry on loopback that speaks npm, pip, Cargo's sparse index, Maven, Go, gems and Composer, with one package `tinydep`. */

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  type Answer,
  composerAnswers,
  gemAnswers,
  goAnswers,
  hash,
  jarAnswers,
  zip,
} from "#test/support/package-archives.ts";

export interface PackageRegistry {
  /** `127.0.0.1:port`, as an allow-list has it. */
  readonly host: string;
  readonly url: string;
  /** Paths asked for, in order. */
  readonly paths: string[];
  /** Credentials that clients sent along; must stay empty. */
  readonly credentials: string[];
  close(): Promise<void>;
}

const VERSION = "1.0.0";
const ENV = { PATH: "/usr/local/bin:/usr/bin:/bin" };

function tgz(directory: string, name: string, top: string, files: Readonly<Record<string, string>>): Buffer {
  for (const [path, text] of Object.entries(files)) {
    const file = join(directory, name, top, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
  }
  return execFileSync("tar", ["-czf", "-", "-C", join(directory, name), top], { env: ENV });
}

function wheel(directory: string): Buffer {
  const info = `tinydep-${VERSION}.dist-info`;
  const files = {
    "tinydep.py": "ANSWER = 42\n",
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: tinydep\nVersion: ${VERSION}\n`,
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${info}/RECORD`]: `tinydep.py,,\n${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`,
  };
  return zip(join(directory, "wheel"), files);
}

function npmAnswers(url: string, tarball: Buffer): Record<string, Answer> {
  const dist = {
    tarball: `${url}/npm/tinydep/-/tinydep-${VERSION}.tgz`,
    shasum: hash("sha1", tarball),
    integrity: `sha512-${hash("sha512", tarball, "base64")}`,
  };
  const meta = {
    name: "tinydep",
    "dist-tags": { latest: VERSION },
    time: { created: "2020-01-01T00:00:00.000Z", [VERSION]: "2020-01-01T00:00:00.000Z" },
    versions: {
      [VERSION]: {
        ...{ name: "tinydep", version: VERSION, main: "index.js", hasInstallScript: true, dist },
        scripts: { postinstall: "node install.js" },
      },
    },
  };
  return {
    "/npm/tinydep": { type: "application/json", body: JSON.stringify(meta) },
    [`/npm/tinydep/-/tinydep-${VERSION}.tgz`]: { type: "application/octet-stream", body: tarball },
  };
}

function cargoAnswers(url: string, crate: Buffer): Record<string, Answer> {
  const entry = {
    ...{ name: "tinydep", vers: VERSION, deps: [], cksum: hash("sha256", crate) },
    ...{ features: {}, yanked: false },
  };
  return {
    "/index/config.json": { type: "application/json", body: JSON.stringify({ dl: `${url}/crates` }) },
    "/index/ti/ny/tinydep": { type: "text/plain", body: `${JSON.stringify(entry)}\n` },
    [`/crates/tinydep/${VERSION}/download`]: { type: "application/gzip", body: crate },
  };
}

const PARENT_POM = `<project><modelVersion>4.0.0</modelVersion><groupId>tiny</groupId><artifactId>tinydep</artifactId><version>${VERSION}</version><packaging>pom</packaging></project>\n`;

function mavenAnswers(): Record<string, Answer> {
  const pom = `/maven/tiny/tinydep/${VERSION}/tinydep-${VERSION}.pom`;
  return {
    [pom]: { type: "text/xml", body: PARENT_POM },
    [`${pom}.sha1`]: { type: "text/plain", body: hash("sha1", PARENT_POM) },
  };
}

/** Listens on a free port; `directory` is for the archives it makes. */
export async function startPackageRegistry(directory: string): Promise<PackageRegistry> {
  const paths: string[] = [];
  const credentials: string[] = [];
  const answers = new Map<string, Answer>();
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://x").pathname);
    paths.push(path);
    if (request.headers.authorization !== undefined) credentials.push(request.headers.authorization);
    const answer = answers.get(path);
    if (answer === undefined) return void response.writeHead(404).end("not here");
    // As the public registries do: an archive never changes.
    const keep = typeof answer.body === "string" ? "no-cache" : "public, max-age=365000000, immutable";
    response.writeHead(200, { "content-type": answer.type, "cache-control": keep }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `http://${host}`;
  const tarball = tgz(directory, "npm", "package", {
    "package.json": JSON.stringify({
      ...{ name: "tinydep", version: VERSION, main: "index.js" },
      scripts: { postinstall: "node install.js" },
    }),
    "index.js": "module.exports = 42;\n",
    // What a hostile install script would look at first (FAULTS H11).
    "install.js":
      'const fs = require("node:fs"), os = require("node:os");\nconst home = fs.readdirSync(os.homedir());\nfs.writeFileSync((process.env.INIT_CWD || "/workspace") + "/seen.json", JSON.stringify({ home, env: process.env }));\n',
  });
  const crate = tgz(directory, "crate", `tinydep-${VERSION}`, {
    "Cargo.toml": `[package]\nname = "tinydep"\nversion = "${VERSION}"\nedition = "2021"\n`,
    "src/lib.rs": "pub const ANSWER: u32 = 42;\n",
  });
  const file = `tinydep-${VERSION}-py3-none-any.whl`;
  const bytes = wheel(directory);
  const all: Record<string, Answer> = {
    ...npmAnswers(url, tarball),
    ...cargoAnswers(url, crate),
    ...mavenAnswers(),
    ...goAnswers(directory),
    ...gemAnswers(directory),
    ...composerAnswers(directory, url),
    ...jarAnswers(directory),
    "/simple/tinydep/": {
      type: "text/html",
      body: `<a href="/files/${file}#sha256=${hash("sha256", bytes)}">${file}</a>`,
    },
    [`/files/${file}`]: { type: "application/octet-stream", body: bytes },
  };
  for (const [path, answer] of Object.entries(all)) answers.set(path, answer);
  return {
    ...{ host, url, paths, credentials },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
