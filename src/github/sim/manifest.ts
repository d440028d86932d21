/** The app-manifest flow: the page that registers an app, and the exchange of its code for the app's credentials. */

import { generateKeyPairSync } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { appShape } from "./account-shapes.ts";
import { created, notFound } from "./answers.ts";
import type { Hub } from "./hub.ts";
import { isObject, type JsonObject, listOf, textOf } from "./json.ts";
import { param, type Route } from "./router.ts";
import { type Account, type App, addAccount, takeId } from "./state.ts";

export interface AppKeys {
  /** PEM, PKCS#1, as GitHub hands it out. */
  readonly privateKey: string;
  /** PEM, SPKI. */
  readonly publicKey: string;
}

/** A new RSA key pair for an app. Takes some tens of milliseconds. */
export function createAppKeys(): AppKeys {
  return generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
}

export interface AppSettings {
  readonly id?: number;
  readonly slug: string;
  readonly name?: string;
  /** Login of the account that owns the app; made as a user when it is not there. */
  readonly owner?: string;
  readonly publicKey: string;
  readonly webhookSecret: string;
  readonly webhookUrl?: string | null;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly events?: readonly string[];
}

/** What agent-fix asks for in its manifest. */
export const DEFAULT_PERMISSIONS: Readonly<Record<string, string>> = {
  metadata: "read",
  contents: "write",
  issues: "write",
  pull_requests: "write",
  checks: "read",
  statuses: "read",
};
export const DEFAULT_EVENTS: readonly string[] = [
  "issues",
  "issue_comment",
  "pull_request",
  "pull_request_review",
  "check_suite",
  "status",
  "repository",
];

export function registerApp(hub: Hub, settings: AppSettings): App {
  const { state } = hub;
  const app: App = {
    id: settings.id ?? takeId(state),
    slug: settings.slug,
    name: settings.name ?? settings.slug,
    owner: addAccount(state, settings.owner ?? "operator", "User"),
    bot: addAccount(state, `${settings.slug}[bot]`, "Bot"),
    publicKey: settings.publicKey,
    webhookSecret: settings.webhookSecret,
    webhookUrl: settings.webhookUrl ?? null,
    permissions: settings.permissions ?? DEFAULT_PERMISSIONS,
    events: settings.events ?? DEFAULT_EVENTS,
    createdAt: hub.clock.now(),
  };
  state.apps.set(app.id, app);
  return app;
}

export interface Manifests {
  readonly routes: readonly Route[];
  /** True when the address is the page that registers an app, and the answer is sent. */
  handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean>;
}

const PAGE = /^(?:\/organizations\/([^/]+))?\/settings\/apps\/new$/;
const MAX_FORM_BYTES = 1024 * 1024;

/** A posted form counts as the person's agreement; the page that GitHub shows in between is left out. */
export function createManifests(hub: Hub): Manifests {
  const waiting = new Map<string, JsonObject>();
  return {
    routes: [
      {
        method: "POST",
        template: "/app-manifests/{code}/conversions",
        handle: (call) => {
          const credentials = waiting.get(param(call, "code"));
          if (credentials === undefined) throw notFound();
          // A code is good for one exchange.
          waiting.delete(param(call, "code"));
          return created(credentials);
        },
      },
    ],
    handle: async (request, response, url) => {
      const match = PAGE.exec(url.pathname);
      if (match === null || request.method !== "POST") return false;
      const manifest = manifestOf(await readForm(request));
      const redirect = manifest === null ? null : textOf(manifest, "redirect_url");
      if (manifest === null || redirect === null) {
        response.writeHead(422, { "content-type": "text/plain" });
        response.end("The manifest must be JSON with name, url and redirect_url.\n");
        return true;
      }
      const owner = match[1] === undefined ? null : addAccount(hub.state, match[1], "Organization");
      const code = hub.ids.hex(20);
      waiting.set(code, convert(hub, manifest, owner));
      const target = new URL(redirect);
      target.searchParams.set("code", code);
      const state = url.searchParams.get("state");
      if (state !== null) target.searchParams.set("state", state);
      response.writeHead(302, { location: target.href });
      response.end();
      return true;
    },
  };
}

function convert(hub: Hub, manifest: JsonObject, owner: Account | null): JsonObject {
  const keys = createAppKeys();
  const secret = hub.ids.hex(20);
  const name = textOf(manifest, "name") ?? "app";
  const hook = isObject(manifest.hook_attributes) ? manifest.hook_attributes : {};
  const permissions = isObject(manifest.default_permissions) ? manifest.default_permissions : {};
  const app = registerApp(hub, {
    slug: name.toLowerCase().replace(/[^a-z0-9]+/g, "-"),
    name,
    ...(owner === null ? {} : { owner: owner.login }),
    publicKey: keys.publicKey,
    webhookSecret: secret,
    webhookUrl: textOf(hook, "url"),
    permissions: Object.fromEntries(Object.entries(permissions).map(([key, level]) => [key, String(level)])),
    events: listOf(manifest, "default_events").map(String),
  });
  return {
    ...appShape(hub.urls, app),
    client_id: `Iv1.${hub.ids.hex(8)}`,
    client_secret: hub.ids.hex(20),
    webhook_secret: secret,
    pem: keys.privateKey,
  };
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_FORM_BYTES) chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}

function manifestOf(form: URLSearchParams): JsonObject | null {
  try {
    const manifest: unknown = JSON.parse(form.get("manifest") ?? "");
    return isObject(manifest) ? manifest : null;
  } catch {
    return null;
  }
}
