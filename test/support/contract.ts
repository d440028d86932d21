/** Checks what the embedded GitHub heard and said against GitHub's published descriptions: REST exchanges and webhook payloads. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Ajv, type ValidateFunction } from "ajv";
import addFormatsModule from "ajv-formats";
import type { Exchange } from "#src/github/sim/exchanges.ts";
import type { Delivery } from "#src/github/sim/webhooks.ts";

interface Operation {
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: object;
  }[];
  readonly requestBody: { readonly properties?: object; readonly oneOf?: unknown } | null;
  readonly requestBodyRequired: boolean;
  readonly responses: Readonly<Record<string, object | null>>;
}

interface Contract {
  readonly operations: Readonly<Record<string, Operation>>;
  readonly definitions: object;
}

// The package is CommonJS; its types say that the function is the module's `default`.
const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default;

/** Made on first use: reading and compiling the schemas takes half a second. */
let checkers: { readonly rest: RestChecker; readonly webhook: WebhookChecker } | null = null;
type RestChecker = (exchange: Exchange) => readonly string[];
type WebhookChecker = (delivery: Delivery) => readonly string[];

function loaded() {
  checkers ??= { rest: createRestChecker(), webhook: createWebhookChecker() };
  return checkers;
}

/** One line for each breach of GitHub's OpenAPI description; planned faults and unknown addresses are left out. */
export function contractViolations(exchanges: readonly Exchange[]): readonly string[] {
  const { rest } = loaded();
  return exchanges.flatMap((exchange) =>
    // GraphQL has a description of its own.
    exchange.faulted || exchange.template === null || exchange.template === "/graphql"
      ? []
      : rest(exchange).map((breach) => `${exchange.method} ${exchange.path} (${exchange.status}): ${breach}`),
  );
}

/** One line for each breach of the published webhook schemas. */
export function webhookViolations(deliveries: readonly Delivery[]): readonly string[] {
  const { webhook } = loaded();
  return deliveries.flatMap((delivery) =>
    webhook(delivery).map((breach) => `${delivery.event}.${delivery.action}: ${breach}`),
  );
}

function createAjv(coerceTypes: false | "array" = false): Ajv {
  // The published schemas are taken as right, and small code matters more than fast code: compiling takes a sixth of the time.
  const ajv = new Ajv({
    strict: false,
    validateSchema: false,
    inlineRefs: false,
    code: { optimize: false },
    coerceTypes,
  });
  addFormats(ajv);
  // GitHub's own format for `owner/name`.
  ajv.addFormat("repo.nwo", /^[^/]+\/[^/]+$/);
  return ajv;
}

function createRestChecker(): RestChecker {
  const file = new URL("../../fixtures/openapi/github-subset.json", import.meta.url);
  const contract: Contract = JSON.parse(readFileSync(file, "utf8"));
  const ajv = createAjv().addSchema({ $id: "gh", ...contract });
  // Addresses and query texts are numbers and booleans only by their spelling.
  const lenient = createAjv("array").addSchema({ $id: "gh", ...contract });
  const compiled = new Map<string, ValidateFunction>();
  const at = (...path: readonly string[]) =>
    `gh#/${path
      .map((part) => part.replaceAll("~", "~0").replaceAll("/", "~1"))
      .map(encodeURIComponent)
      .join("/")}`;

  const request = (key: string, operation: Operation, exchange: Exchange): readonly string[] => {
    const given: Readonly<Record<string, string>> = { ...exchange.query, ...exchange.params };
    const known = new Set(operation.parameters.map((parameter) => parameter.name));
    const unknown = Object.keys(exchange.query).filter((name) => !known.has(name));
    const parameters = operation.parameters.flatMap((parameter, index) => {
      const value = given[parameter.name];
      if (value === undefined) return parameter.required ? [`${parameter.name} is missing`] : [];
      const place = at("operations", key, "parameters", String(index), "schema");
      const validate =
        compiled.get(place) ?? lenient.compile({ type: "object", properties: { value: { $ref: place } } });
      compiled.set(place, validate);
      return errorsOf(validate, { value }, `parameter ${parameter.name}`);
    });
    return [...unknown.map((name) => `unknown query parameter ${name}`), ...parameters];
  };

  const requestBody = (key: string, operation: Operation, exchange: Exchange): readonly string[] => {
    const body = exchange.requestBody;
    // A refusal is GitHub's own answer to a body that breaks the contract.
    if (exchange.status >= 400) return [];
    if (body === undefined) return operation.requestBodyRequired ? ["the request body is missing"] : [];
    if (operation.requestBody === null) return ["the operation takes no request body"];
    const validate = ajv.getSchema(at("operations", key, "requestBody"));
    const known = operation.requestBody.properties;
    const unknown =
      known === undefined || typeof body !== "object" || body === null
        ? []
        : Object.keys(body).filter((name) => !(name in known));
    return [
      ...unknown.map((name) => `unknown member ${name} in the request body`),
      ...errorsOf(validate, body, "request body"),
    ];
  };

  const response = (key: string, operation: Operation, exchange: Exchange): readonly string[] => {
    const status = String(exchange.status);
    if (!(status in operation.responses)) {
      if (exchange.status < 400) return [`the answer ${status} is not described`];
      return errorsOf(ajv.getSchema(at("definitions", "basic-error")), exchange.responseBody, "error");
    }
    if (operation.responses[status] === null)
      return exchange.status === 204 && exchange.responseBody !== undefined ? ["204 has no body"] : [];
    const validate = ajv.getSchema(at("operations", key, "responses", status));
    return errorsOf(validate, exchange.responseBody, "answer");
  };

  return (exchange) => {
    const key = `${exchange.method} ${exchange.template}`;
    const operation = contract.operations[key];
    if (operation === undefined) return ["GitHub describes no such operation, or the subset lacks it"];
    return [
      ...request(key, operation, exchange),
      ...requestBody(key, operation, exchange),
      ...response(key, operation, exchange),
    ];
  };
}

function createWebhookChecker(): WebhookChecker {
  const file = createRequire(import.meta.url).resolve("@octokit/webhooks-schemas");
  const ajv = createAjv().addSchema({ $id: "hooks", ...JSON.parse(readFileSync(file, "utf8")) });
  return (delivery) => {
    const name = `${delivery.event}$${delivery.action ?? "event"}`;
    const validate = ajv.getSchema(`hooks#/definitions/${encodeURIComponent(name)}`);
    if (validate === undefined) return ["there is no published schema"];
    return errorsOf(validate, JSON.parse(delivery.body), "payload");
  };
}

function errorsOf(validate: ValidateFunction | undefined, value: unknown, what: string): readonly string[] {
  if (validate === undefined) return [`${what}: no schema`];
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    (error) => `${what}${error.instancePath} ${error.message ?? ""} ${JSON.stringify(error.params)}`,
  );
}
