/** Which hosts set-up may reach: the built-in list, what the operator adds, what a repository leaves of it, and what the host's clients use. */

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import {
  bundlerMirror,
  cargoMirror,
  composerRepositories,
  mavenMirrors,
} from "#src/sandbox/network/host-clients.ts";
import { allowedRegistries, REGISTRIES } from "#src/sandbox/network/registries.ts";
import { hostRegistrySettings, settingsFor } from "#src/sandbox/network/registry.ts";
import { proxyEnv } from "#src/sandbox/policy.ts";
import { specOf } from "#test/sandbox/rig.ts";
import { tempDir } from "#test/support/temp-dir.ts";

const BUILT_IN = Object.values(REGISTRIES).flatMap((list) => list.map(({ host }) => host));

test("the operator's list adds to the public registries, or stands alone after `none`", () => {
  assert.deepEqual(allowedRegistries(["registries"]), BUILT_IN);
  assert.deepEqual(allowedRegistries(["a.example", "10.0.0.7:8081"]), [
    ...BUILT_IN,
    "a.example",
    "10.0.0.7:8081",
  ]);
  assert.deepEqual(allowedRegistries(["none", "a.example"]), ["a.example"]);
  assert.deepEqual(allowedRegistries([]), []);
  for (const { host, because } of Object.values(REGISTRIES).flat())
    assert.ok(because.length > 10, `${host} says why it is there`);
});

test("what the host's clients use reaches set-up without credentials, and lasts only where a later step needs it", async () => {
  await using dir = await tempDir();
  const home = join(dir.path, "home");
  const files = {
    ".npmrc": "@scope:registry=https://u:pw1@npm.example/\n//npm.example/:_authToken=pw2\n",
    ".config/go/env": "GOPROXY=https://u:pw3@go.example,direct\nGONOSUMDB=corp.example\n",
    ".cargo/config.toml":
      '[source.crates-io]\nreplace-with = "a"\n[source.a]\nreplace-with = "b"\n[source.b]\nregistry = "sparse+https://u:pw4@cargo.example/index/"\n',
    ".m2/settings.xml":
      "<settings><servers><server><password>pw5</password></server></servers><!-- <mirror><mirrorOf>x</mirrorOf><url>https://old.example</url></mirror> --><mirrors><mirror><mirrorOf>central</mirrorOf><url>https://u:pw6@maven.example/m2</url></mirror></mirrors></settings>",
    ".config/composer/config.json":
      '{"http-basic":{"php.example":{"username":"u","password":"pw7"}},"repositories":[{"type":"composer","url":"https://php.example"}]}',
    ".bundle/config":
      '---\nBUNDLE_GEMS__EXAMPLE: "u:pw8"\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: "https://u:pw9@gems.example/"\n',
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), text);
  }
  const settings = await hostRegistrySettings({}, home, join(dir.path, "made"));
  assert.equal(settings.env["npm_config_@scope:registry"], "https://npm.example/");
  assert.equal(settings.env.GOPROXY, "https://go.example/,direct");
  assert.deepEqual([...settings.hosts].sort(), [
    "cargo.example:443",
    "gems.example:443",
    "go.example:443",
    "maven.example:443",
    "npm.example:443",
    "php.example:443",
  ]);
  assert.deepEqual(
    settings.lasting.map((mount) => mount.target),
    [
      "/.cargo/config.toml",
      "/home/agent/.m2/settings.xml",
      "/run/agent-fix/composer/config.json",
      "/run/agent-fix/bundle-config",
    ],
  );
  assert.equal(settings.env.BUNDLE_USER_CONFIG, "/run/agent-fix/bundle-config");
  const made = await Promise.all(settings.lasting.map((mount) => readFile(mount.source, "utf8")));
  assert.doesNotMatch(JSON.stringify(settings) + made.join(), /pw\d|old\.example/);
  assert.equal(settings.notes.length, 5);

  const spec = specOf(dir.path);
  const later = settingsFor(settings, spec);
  assert.deepEqual([later.env, later.hosts, later.mounts], [{}, [], settings.lasting]);
  assert.deepEqual(settingsFor(settings, { ...spec, phase: "git" }).mounts, []);
  const network = { kind: "allow", hosts: [], onHost: () => undefined } as const;
  assert.equal(settingsFor(settings, { ...spec, phase: "setup", network }), settings);
});

test("a Go proxy on loopback is spelled so that Go asks the session's proxy for it", async () => {
  for (const [given, spelled] of [
    ["http://127.0.0.1:3000/go,direct", "http://localhost.:3000/go,direct"],
    ["http://u:p@localhost:3000", "http://localhost.:3000/"],
    ["http://[::1]:3000/", "http://localhost.:3000/"],
    ["https://localhost.example/", "https://localhost.example/"],
    ["https://127.0.0.1.example/", "https://127.0.0.1.example/"],
  ] as const) {
    const settings = await hostRegistrySettings({ GOPROXY: given }, "/nonexistent");
    assert.equal(settings.env.GOPROXY, spelled);
  }
});

test("files that are damaged or say nothing change nothing", () => {
  assert.equal(cargoMirror(""), null);
  assert.equal(cargoMirror('[source.crates-io]\nreplace-with = "crates-io"\n'), null);
  assert.equal(cargoMirror('[source.crates-io]\nreplace-with = "gone"\n'), null);
  assert.deepEqual(mavenMirrors("<mirror><url>x</url>"), []);
  for (const text of ["", "A: ", "B: x", "A:x", "- A: x"]) assert.equal(bundlerMirror(text, "A"), null);
  for (const text of ["", "{", "null", "[]", '{"repositories":[null,1,{"type":"vcs","url":"x"}]}'])
    assert.deepEqual(composerRepositories(text), [], text);
});

test("Java is told its proxy by properties, since it reads none of the variables", () => {
  const { JAVA_TOOL_OPTIONS = "", NO_PROXY } = proxyEnv(true);
  for (const name of ["http.proxyHost", "http.proxyPort", "https.proxyHost", "https.proxyPort"])
    assert.match(JAVA_TOOL_OPTIONS, new RegExp(`-D${name}=`));
  assert.match(JAVA_TOOL_OPTIONS, /-Dhttp\.nonProxyHosts=( |$)/);
  assert.equal(NO_PROXY, "");
  assert.doesNotMatch(proxyEnv(false).JAVA_TOOL_OPTIONS ?? "", /nonProxyHosts/);
});
