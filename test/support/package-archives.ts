/** What the local package registry serves for Go, Bundler, Composer and Gradle: the same package `tinydep`, in each one's own form. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Answer {
  readonly type: string;
  readonly body: Buffer | string;
}

type Answers = Readonly<Record<string, Answer>>;
type Files = Readonly<Record<string, string>>;

const VERSION = "1.0.0";
const ENV = { PATH: "/usr/local/bin:/usr/bin:/bin" };

function write(root: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

const ZIP = `import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for name, text in json.load(sys.stdin).items():
        archive.writestr(name, text)`;

/** Python writes zip archives: files alone, since a Go module's may have no entries for directories. */
export function zip(root: string, files: Files): Buffer {
  mkdirSync(root, { recursive: true });
  const path = join(root, "archive.zip");
  execFileSync("python3", ["-c", ZIP, path], { env: ENV, input: JSON.stringify(files) });
  return readFileSync(path);
}

export const hash = (algorithm: string, bytes: Buffer | string, form: "hex" | "base64" = "hex") =>
  createHash(algorithm).update(bytes).digest(form);

const GO_MODULE = "example.org/tinydep";
const GO_MOD = `module ${GO_MODULE}\n`;
const GO_SOURCE = "package tinydep\n\nconst Answer = 42\n";

/** As go.sum has it: a digest over the digests of all files. */
function goHash(files: Files): string {
  const lines = Object.entries(files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `${hash("sha256", text)}  ${name}\n`);
  return `h1:${hash("sha256", lines.join(""), "base64")}`;
}

const goFiles: Files = {
  [`${GO_MODULE}@v${VERSION}/go.mod`]: GO_MOD,
  [`${GO_MODULE}@v${VERSION}/tinydep.go`]: GO_SOURCE,
};

/** The go.sum of a module that requires `tinydep`. */
export const GO_SUM = `${GO_MODULE} v${VERSION} ${goHash(goFiles)}\n${GO_MODULE} v${VERSION}/go.mod ${goHash({ "go.mod": GO_MOD })}\n`;

export function goAnswers(directory: string): Answers {
  const at = `/go/${GO_MODULE}/@v`;
  return {
    [`${at}/list`]: { type: "text/plain", body: `v${VERSION}\n` },
    [`${at}/v${VERSION}.info`]: { type: "application/json", body: `{"Version":"v${VERSION}"}` },
    [`${at}/v${VERSION}.mod`]: { type: "text/plain", body: GO_MOD },
    [`${at}/v${VERSION}.zip`]: {
      type: "application/zip",
      body: zip(join(directory, "go"), goFiles),
    },
  };
}

const GEMSPEC = `Gem::Specification.new do |s|
  s.name = "tinydep"
  s.version = "${VERSION}"
  s.summary = s.homepage = "https://example.org/tinydep"
  s.authors = ["tiny"]
  s.license = "MIT"
  s.files = ["lib/tinydep.rb"]
end
`;

/** The compact index that Bundler reads; empty where there is no Ruby to build a gem with. */
export function gemAnswers(directory: string): Answers {
  if (!existsSync("/usr/bin/gem")) return {};
  const root = join(directory, "gem");
  write(root, { "tinydep.gemspec": GEMSPEC, "lib/tinydep.rb": "TINYDEP = 42\n" });
  execFileSync("gem", ["build", "tinydep.gemspec"], { cwd: root, env: ENV, stdio: "pipe" });
  const gem = readFileSync(join(root, `tinydep-${VERSION}.gem`));
  const info = `---\n${VERSION} |checksum:${hash("sha256", gem)}\n`;
  const versions = `created_at: 2020-01-01T00:00:00Z\n---\ntinydep ${VERSION} ${hash("md5", info)}\n`;
  return {
    "/gems-index/versions": { type: "text/plain", body: versions },
    "/gems-index/info/tinydep": { type: "text/plain", body: info },
    [`/gems-index/gems/tinydep-${VERSION}.gem`]: { type: "application/octet-stream", body: gem },
  };
}

export function composerAnswers(directory: string, url: string): Answers {
  const manifest = { name: "tiny/tinydep", autoload: { files: ["tinydep.php"] } };
  const archive = zip(join(directory, "composer"), {
    "composer.json": JSON.stringify(manifest),
    "tinydep.php": "<?php const TINYDEP = 42;\n",
  });
  const file = `/composer/dist/tinydep-${VERSION}.zip`;
  const dist = { type: "zip", url: `${url}${file}`, shasum: hash("sha1", archive) };
  const versions = [{ ...manifest, version: VERSION, version_normalized: `${VERSION}.0`, dist }];
  const json = (body: unknown): Answer => ({ type: "application/json", body: JSON.stringify(body) });
  return {
    "/composer/packages.json": json({ packages: [], "metadata-url": `${url}/composer/p2/%package%.json` }),
    "/composer/p2/tiny/tinydep.json": json({ packages: { "tiny/tinydep": versions } }),
    [file]: { type: "application/zip", body: archive },
  };
}

/** A library of Maven's layout, with a jar. */
export function jarAnswers(directory: string): Answers {
  const pom = `<project><modelVersion>4.0.0</modelVersion><groupId>tiny</groupId><artifactId>tinyjar</artifactId><version>${VERSION}</version></project>\n`;
  const at = `/maven/tiny/tinyjar/${VERSION}/tinyjar-${VERSION}`;
  const jar = zip(join(directory, "jar"), { "answer.txt": "42\n" });
  return {
    [`${at}.pom`]: { type: "text/xml", body: pom },
    [`${at}.pom.sha1`]: { type: "text/plain", body: hash("sha1", pom) },
    [`${at}.jar`]: { type: "application/java-archive", body: jar },
    [`${at}.jar.sha1`]: { type: "text/plain", body: hash("sha1", jar) },
  };
}
