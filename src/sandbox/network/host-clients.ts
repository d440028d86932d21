/** Reads what package managers of the host are configured with, out of their own files; pure. Credentials are never among the results. */

/** The `name = value` lines of an ini file, sections ignored; later ones win. Names with tokens or passwords are never kept. */
export function parseIni(text: string): Record<string, string> {
  const entries = text.split("\n").flatMap((line): [string, string][] => {
    const match = /^\s*([\w-]+|@[\w.-]+:registry)\s*=\s*(.*?)\s*$/.exec(line);
    const name = match?.[1] ?? "";
    return match === null || /auth|token|password|secret/i.test(name) ? [] : [[name, match[2] ?? ""]];
  });
  return Object.fromEntries(entries);
}

/** `@scope:registry` lines of an npmrc, as the variables by which npm, pnpm and Yarn 1 read them. */
export function scopedRegistries(npmrc: Readonly<Record<string, string>>): (readonly [string, string])[] {
  return Object.entries(npmrc)
    .filter(([name]) => name.startsWith("@"))
    .map(([name, value]) => [`npm_config_${name}`, value] as const);
}

/** What stands in for crates.io, followed through `replace-with`; null: nothing does. */
export function cargoMirror(toml: string): string | null {
  const tables = tablesOf(toml);
  let name = "crates-io";
  for (let step = 0; step < 5; step++) {
    const source = tables.get(`source.${name}`);
    if (source?.registry !== undefined && name !== "crates-io") return source.registry;
    if (source?.["replace-with"] === undefined) return null;
    name = source["replace-with"];
  }
  return null;
}

/** Tables of plain `name = "text"` pairs; enough of TOML for a package manager's sources. */
function tablesOf(toml: string): Map<string, Record<string, string>> {
  const tables = new Map<string, Record<string, string>>();
  let table: Record<string, string> = {};
  for (const line of toml.split("\n")) {
    const head = /^\s*\[([^\]]+)\]/.exec(line)?.[1];
    if (head !== undefined) {
      table = {};
      tables.set(head.replace(/["'\s]/g, ""), table);
    }
    const pair = /^\s*"?([\w.-]+)"?\s*=\s*["']([^"']*)["']/.exec(line);
    if (pair?.[1] !== undefined) table[pair[1]] = pair[2] ?? "";
  }
  return tables;
}

/** The file that has Cargo fetch from a mirror instead of crates.io. */
export function cargoConfig(mirror: string): string {
  return `[source.crates-io]\nreplace-with = "operator"\n\n[source.operator]\nregistry = ${JSON.stringify(mirror)}\n`;
}

interface MavenMirror {
  readonly of: string;
  readonly url: string;
}

/** `<mirror>` elements of a settings.xml; comments and servers (with their passwords) are left out. */
export function mavenMirrors(xml: string): readonly MavenMirror[] {
  const bare = xml.replace(/<!--[\s\S]*?-->/g, "");
  return [...bare.matchAll(/<mirror>([\s\S]*?)<\/mirror>/g)].flatMap(([, body = ""]) => {
    const of = /<mirrorOf>\s*([^<]*?)\s*<\/mirrorOf>/.exec(body)?.[1];
    const url = /<url>\s*([^<]*?)\s*<\/url>/.exec(body)?.[1];
    return of === undefined || url === undefined ? [] : [{ of, url }];
  });
}

/** A settings.xml with these mirrors and nothing else. */
export function mavenSettings(mirrors: readonly MavenMirror[]): string {
  const entries = mirrors.map(
    ({ of, url }, index) =>
      `    <mirror><id>operator-${index}</id><mirrorOf>${of}</mirrorOf><url>${url}</url></mirror>`,
  );
  return `<settings>\n  <mirrors>\n${entries.join("\n")}\n  </mirrors>\n</settings>\n`;
}

/** The value of a setting in Bundler's config file, which is YAML of one pair a line; null: it has none. */
export function bundlerMirror(yaml: string, name: string): string | null {
  const line = yaml.split("\n").find((one) => one.startsWith(`${name}: `));
  const value =
    line
      ?.slice(name.length + 2)
      .trim()
      .replace(/^(["'])(.*)\1$/, "$2") ?? "";
  return value === "" ? null : value;
}

/** Addresses of composer repositories in a global config.json. */
export function composerRepositories(json: string): readonly string[] {
  let config: unknown;
  try {
    config = JSON.parse(json);
  } catch {
    // Composer itself would refuse the file.
    return [];
  }
  const { repositories } = (config ?? {}) as { readonly repositories?: unknown };
  if (typeof repositories !== "object" || repositories === null) return [];
  return Object.values(repositories).flatMap((entry: unknown) => {
    const { type, url } = (entry ?? {}) as { readonly type?: unknown; readonly url?: unknown };
    return type === "composer" && typeof url === "string" ? [url] : [];
  });
}

/** A config.json in which these repositories stand in for Packagist. */
export function composerConfig(urls: readonly string[]): string {
  const repositories = [...urls.map((url) => ({ type: "composer", url })), { "packagist.org": false }];
  return `${JSON.stringify({ repositories, config: { "secure-http": urls.every((url) => url.startsWith("https:")) } })}\n`;
}
