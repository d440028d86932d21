/**
 * Makes fixtures/openapi/github-subset.json: the operations we use out of GitHub's published OpenAPI description, as
 * JSON Schema. The description (`@octokit/openapi`, 385 MB) is not a dependency. To renew the subset:
 *
 *   npm pack @octokit/openapi@23.0.2 --pack-destination /tmp
 *   tar xzf /tmp/octokit-openapi-23.0.2.tgz -C /tmp package/generated/api.github.com.json
 *   node scripts/openapi-subset.ts /tmp/package/generated/api.github.com.json 23.0.2
 */

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

type Value = null | boolean | number | string | readonly Value[] | { readonly [key: string]: Value };
type Mapping = { readonly [key: string]: Value };

/** Every route of the embedded GitHub that GitHub describes. */
const OPERATIONS: readonly string[] = [
  "GET /app",
  "POST /app-manifests/{code}/conversions",
  "GET /app/installations",
  "GET /app/installations/{installation_id}",
  "POST /app/installations/{installation_id}/access_tokens",
  "GET /app/hook/deliveries",
  "GET /app/hook/deliveries/{delivery_id}",
  "POST /app/hook/deliveries/{delivery_id}/attempts",
  "GET /installation/repositories",
  "GET /users/{username}",
  "GET /repos/{owner}/{repo}",
  "GET /repos/{owner}/{repo}/installation",
  "GET /repos/{owner}/{repo}/collaborators/{username}/permission",
  "GET /repos/{owner}/{repo}/issues",
  "POST /repos/{owner}/{repo}/issues",
  "GET /repos/{owner}/{repo}/issues/{issue_number}",
  "PATCH /repos/{owner}/{repo}/issues/{issue_number}",
  "GET /repos/{owner}/{repo}/issues/{issue_number}/timeline",
  "GET /repos/{owner}/{repo}/issues/{issue_number}/labels",
  "POST /repos/{owner}/{repo}/issues/{issue_number}/labels",
  "DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}",
  "GET /repos/{owner}/{repo}/issues/{issue_number}/reactions",
  "POST /repos/{owner}/{repo}/issues/{issue_number}/reactions",
  "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
  "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
  "GET /repos/{owner}/{repo}/issues/comments/{comment_id}",
  "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}",
  "DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}",
  "POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
  "GET /repos/{owner}/{repo}/git/ref/{ref}",
  "POST /repos/{owner}/{repo}/git/refs",
  "PATCH /repos/{owner}/{repo}/git/refs/{ref}",
  "DELETE /repos/{owner}/{repo}/git/refs/{ref}",
  "POST /repos/{owner}/{repo}/git/blobs",
  "GET /repos/{owner}/{repo}/git/blobs/{file_sha}",
  "POST /repos/{owner}/{repo}/git/trees",
  "GET /repos/{owner}/{repo}/git/trees/{tree_sha}",
  "POST /repos/{owner}/{repo}/git/commits",
  "GET /repos/{owner}/{repo}/git/commits/{commit_sha}",
  "GET /orgs/{org}/teams/{team_slug}/memberships/{username}",
  "GET /repos/{owner}/{repo}/commits",
  "GET /repos/{owner}/{repo}/commits/{ref}/check-runs",
  "GET /repos/{owner}/{repo}/commits/{ref}/status",
  "GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations",
  "GET /repos/{owner}/{repo}/pulls",
  "POST /repos/{owner}/{repo}/pulls",
  "GET /repos/{owner}/{repo}/pulls/{pull_number}",
  "PATCH /repos/{owner}/{repo}/pulls/{pull_number}",
  "GET /repos/{owner}/{repo}/pulls/{pull_number}/comments",
  "POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies",
];

/** Where the description is plainly wrong, with what is put in its place. */
const CORRECTIONS: Readonly<Record<string, (operation: Mapping) => Mapping>> = {
  // Inlined, and there an installation's account must be a person and an enterprise at once.
  "GET /app/installations": (operation) => ({
    ...operation,
    responses: {
      ...mapping(operation.responses),
      "200": { type: "array", items: { $ref: "#/definitions/installation" } },
    },
  }),
};

/** Words for people, and keywords of OpenAPI that JSON Schema does not have. */
const DROPPED = new Set([
  "description",
  "summary",
  "title",
  "example",
  "examples",
  "externalDocs",
  "deprecated",
  "readOnly",
  "writeOnly",
  "discriminator",
]);
const SCHEMA_REF = "#/components/schemas/";

function isMapping(value: Value | undefined): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mapping(value: Value | undefined): Mapping {
  return isMapping(value) ? value : {};
}

/** OpenAPI 3.0's `nullable` said in JSON Schema: null is one more alternative, and one more member of an enum. */
function nullable(schema: Mapping): Mapping {
  const { nullable: isNullable, ...rest } = schema;
  if (isNullable !== true) return rest;
  const enumeration = Array.isArray(rest.enum) ? { enum: [...rest.enum, null] } : {};
  if (typeof rest.type === "string") return { ...rest, ...enumeration, type: [rest.type, "null"] };
  return { anyOf: [rest, { type: "null" }] };
}

/** `inProperties`: the keys are names of members there, so none is a word for people. */
function cleaned(value: Value, inProperties = false): Value {
  if (Array.isArray(value)) return value.map((entry: Value) => cleaned(entry));
  if (!isMapping(value)) return value;
  if (typeof value.$ref === "string") return { $ref: value.$ref.replace(SCHEMA_REF, "#/definitions/") };
  const kept = Object.entries(value).filter(
    ([key]) => inProperties || !(DROPPED.has(key) || key.startsWith("x-")),
  );
  const entries = kept.map(([key, entry]) => [key, cleaned(entry, key === "properties" && !inProperties)]);
  return inProperties ? Object.fromEntries(entries) : nullable(Object.fromEntries(entries));
}

function jsonSchemaOf(holder: Mapping): Value {
  const schema = mapping(mapping(holder.content)["application/json"]).schema;
  return schema === undefined ? null : cleaned(schema);
}

function createReader(description: Mapping) {
  const components = mapping(description.components);
  const resolved = (value: Value): Mapping => {
    const ref = mapping(value).$ref;
    if (typeof ref !== "string") return mapping(value);
    const [kind = "", name = ""] = ref.replace("#/components/", "").split("/");
    return mapping(mapping(components[kind])[name]);
  };
  const operation = (key: string): Mapping => {
    const [method = "", path = ""] = key.split(" ");
    const item = mapping(mapping(description.paths)[path]);
    const found = item[method.toLowerCase()];
    if (!isMapping(found)) throw new Error(`the description has no ${key}`);
    const listed = [item.parameters, found.parameters].flatMap((list) => (Array.isArray(list) ? list : []));
    const parameters = listed.map(resolved).map((parameter) => ({
      name: parameter.name ?? "",
      in: parameter.in ?? "",
      required: parameter.required ?? false,
      schema: cleaned(parameter.schema ?? {}),
    }));
    const body = found.requestBody === undefined ? null : resolved(found.requestBody);
    const responses = Object.entries(mapping(found.responses)).map(([status, response]) => [
      status,
      jsonSchemaOf(resolved(response)),
    ]);
    return {
      parameters,
      requestBody: body === null ? null : jsonSchemaOf(body),
      requestBodyRequired: body?.required === true,
      responses: Object.fromEntries(responses),
    };
  };
  const schema = (name: string): Value => {
    const found = mapping(components.schemas)[name];
    if (found === undefined) throw new Error(`the description has no schema ${name}`);
    return cleaned(found);
  };
  return { operation, schema };
}

function refsIn(value: Value): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(refsIn);
  if (!isMapping(value)) return [];
  const own = typeof value.$ref === "string" ? [value.$ref.replace("#/definitions/", "")] : [];
  return [...own, ...Object.values(value).flatMap(refsIn)];
}

function main(): void {
  const [file, version] = process.argv.slice(2);
  if (file === undefined || version === undefined) {
    console.error(
      "Give the path of api.github.com.json and the version of @octokit/openapi; see the top of this file.",
    );
    process.exitCode = 1;
    return;
  }
  const reader = createReader(JSON.parse(readFileSync(file, "utf8")));
  const operations = new Map(
    OPERATIONS.map(
      (key) => [key, CORRECTIONS[key]?.(reader.operation(key)) ?? reader.operation(key)] as const,
    ),
  );
  const definitions = new Map<string, Value>();
  const wanted = [...operations.values()].flatMap(refsIn);
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (definitions.has(name)) continue;
    const schema = reader.schema(name);
    definitions.set(name, schema);
    wanted.push(...refsIn(schema));
  }
  // One operation or schema a line, sorted, so that a renewal shows what changed.
  const lines = (entries: ReadonlyMap<string, Value>) =>
    [...entries]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
      .join(",\n");
  const text = `{"source":"@octokit/openapi ${version}",\n"operations":{\n${lines(operations)}\n},\n"definitions":{\n${lines(definitions)}\n}}\n`;
  const target = fileURLToPath(new URL("../fixtures/openapi/github-subset.json", import.meta.url));
  writeFileSync(target, text);
  console.log(
    `${operations.size} operations, ${definitions.size} schemas, ${text.length} characters: ${target}`,
  );
}

main();
