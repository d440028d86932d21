/** The set-up page: registers the app on GitHub by its manifest, stores what comes back, and is gone afterwards. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { type Clock, deadline } from "#src/base/clock.ts";
import type { Ids } from "#src/base/ids.ts";
import type { Log } from "#src/base/log.ts";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import { type Handler, readBody } from "./server.ts";
import { codePage, contentPolicy, donePage, problemPage, registerPage } from "./setup-pages.ts";
import { createSetupSession, type SetupSession } from "./setup-session.ts";
import { WEBHOOK_PATH } from "./webhooks.ts";

/** What GitHub hands out for a registered manifest. */
const CONVERSION = z.object({
  id: z.number().int(),
  pem: z.string().min(1),
  webhook_secret: z.string().min(1),
  html_url: z.string(),
  client_id: z.string().optional(),
  client_secret: z.string().optional(),
});

export type RegisteredApp = z.output<typeof CONVERSION>;

export interface SetupOptions {
  /** Web pages and API of the GitHub in use, without a slash at the end. */
  readonly webUrl: string;
  readonly apiUrl: string;
  /** Where people reach this server; null: the address they came in by. */
  readonly publicUrl: string | null;
  /** A relay's address that GitHub shall send webhooks to instead. */
  readonly webhookProxyUrl: string | null;
  /** `app.yml`, parsed. */
  readonly manifest: Readonly<Record<string, unknown>>;
  /** In place of Node's own, e.g. one that goes through a proxy. */
  readonly fetch?: typeof fetch | null;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** For the page that says where the credentials are. */
  readonly credentialsFile: string;
  /** Stores the credentials and puts the webhooks in; after it the page is gone. */
  readonly onRegistered: (app: RegisteredApp) => Promise<void>;
}

export interface SetupPage {
  readonly handler: Handler;
  /** To be printed in the operator's terminal, and nowhere else. */
  readonly code: string;
}

export function createSetupPage(options: SetupOptions): SetupPage {
  const session = createSetupSession(options.ids);
  const handler: Handler = async (request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const html = (status: number, body: string) => send(options, response, status, body);
    if (url.pathname === "/") {
      response.writeHead(302, { location: "/setup" });
      response.end();
    } else if (url.pathname === "/setup" && request.method === "GET") html(200, codePage(null));
    else if (url.pathname === "/setup" && request.method === "POST")
      html(...(await enterCode(options, session, request)));
    else if (url.pathname === "/setup/callback" && request.method === "GET")
      html(...(await takeCallback(options, session, url.searchParams)));
    else html(404, problemPage("There is no such page."));
  };
  return { handler, code: session.code };
}

function send(options: SetupOptions, response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": contentPolicy([options.webUrl]),
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  response.end(body);
}

async function enterCode(
  options: SetupOptions,
  session: SetupSession,
  request: IncomingMessage,
): Promise<[number, string]> {
  const body = await readBody(request, 10_000);
  if (body === null) return [413, problemPage("That is too much for a code.")];
  const form = new URLSearchParams(body);
  const checked = session.check((form.get("code") ?? "").trim());
  if (checked === "locked")
    return [429, codePage("Too many wrong codes. Restart the server; it prints a new one.")];
  if (checked === "wrong") return [403, codePage("That is not the code in the server's terminal.")];
  const organisation = (form.get("organisation") ?? "").trim();
  if (organisation !== "" && !/^[A-Za-z0-9-]{1,39}$/.test(organisation))
    return [400, codePage("That is not the name of an organisation.")];
  const here = options.publicUrl ?? `http://${request.headers.host ?? "127.0.0.1"}`;
  const webhookUrl = options.webhookProxyUrl ?? `${here}${WEBHOOK_PATH}`;
  const owner = organisation === "" ? "" : `/organizations/${organisation}`;
  return [
    200,
    registerPage({
      action: `${options.webUrl}${owner}/settings/apps/new?state=${session.issueState()}`,
      manifest: {
        ...options.manifest,
        hook_attributes: { url: webhookUrl, active: true },
        redirect_url: `${here}/setup/callback`,
      },
      webhookUrl,
      webhookWarning:
        options.publicUrl === null && options.webhookProxyUrl === null
          ? "GitHub must be able to reach that address. If it can't, set PUBLIC_URL or WEBHOOK_PROXY_URL and restart."
          : null,
    }),
  ];
}

async function takeCallback(
  options: SetupOptions,
  session: SetupSession,
  query: URLSearchParams,
): Promise<[number, string]> {
  if (!session.redeemState(query.get("state") ?? ""))
    return [403, problemPage("This answer does not belong to a registration that was started here.")];
  const converted = await convert(options, query.get("code") ?? "");
  if (!converted.ok) return [502, problemPage(converted.error)];
  try {
    await options.onRegistered(converted.value);
  } catch (error) {
    options.log.error({ err: error }, "the credentials could not be stored");
    return [500, problemPage(`The credentials could not be stored: ${messageOf(error)}`)];
  }
  return [200, donePage(`${converted.value.html_url}/installations/new`, options.credentialsFile)];
}

/** Exchanges the temporary code for the app's credentials; GitHub takes each code once, within an hour. */
async function convert(
  { apiUrl, clock, fetch: other }: SetupOptions,
  code: string,
): Promise<Result<RegisteredApp, string>> {
  if (!/^[\w-]{1,200}$/.test(code)) return err("GitHub sent no code along.");
  try {
    const response = await (other ?? fetch)(`${apiUrl}/app-manifests/${code}/conversions`, {
      method: "POST",
      headers: { accept: "application/vnd.github+json", "user-agent": "agent-fix" },
      signal: deadline(clock, 30_000),
    });
    if (!response.ok)
      return err(`GitHub answered ${response.status} to the registration. Please start again.`);
    const read = CONVERSION.safeParse(await response.json());
    return read.success
      ? ok(read.data)
      : err("GitHub's answer lacks the app's credentials. Please start again.");
  } catch (error) {
    return err(`GitHub could not be reached: ${messageOf(error)}`);
  }
}
