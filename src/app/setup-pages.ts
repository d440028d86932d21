/** The set-up pages as HTML, built by pure functions: ask for the code, offer the manifest, say what comes next. */

import { sha256 } from "#src/base/canonical-json.ts";

export const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color:#1f2328}input,button{font:inherit;padding:.4rem .6rem}button{cursor:pointer}code{background:#eff1f3;padding:.1rem .3rem;border-radius:4px}.bad{color:#b42318}@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}code{background:#262c36}.bad{color:#ff7b72}}";

/** Nothing from elsewhere, no script; forms may go to this server and to the one GitHub. */
export function contentPolicy(formTargets: readonly string[]): string {
  const style = Buffer.from(sha256(STYLE), "hex").toString("base64");
  return `default-src 'none'; style-src 'sha256-${style}'; form-action 'self' ${formTargets.join(" ")}; frame-ancestors 'none'; base-uri 'none'`;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main><h1>${escapeHtml(title)}</h1>${body}</main></body></html>`;
}

export function codePage(problem: string | null): string {
  const bad = problem === null ? "" : `<p class="bad" role="alert">${escapeHtml(problem)}</p>`;
  return page(
    "Set up agent-fix",
    `<p>This server has no GitHub App yet. Enter the one-time code it printed in its terminal.</p>${bad}<form method="post" action="/setup"><p><label>Code <input name="code" autocomplete="off" size="44" required></label></p><p><label>Organisation that shall own the app (empty: your own account) <input name="organisation" autocomplete="off"></label></p><p><button>Go on</button></p></form>`,
  );
}

export interface RegisterPage {
  /** Where GitHub takes manifests, with the state. */
  readonly action: string;
  readonly manifest: object;
  readonly webhookUrl: string;
  readonly webhookWarning: string | null;
}

export function registerPage(facts: RegisterPage): string {
  const warning =
    facts.webhookWarning === null ? "" : `<p class="bad">${escapeHtml(facts.webhookWarning)}</p>`;
  return page(
    "Register the app on GitHub",
    `<p>GitHub will ask for a name and create the app with the least permissions it needs. Webhooks will go to <code>${escapeHtml(facts.webhookUrl)}</code>.</p>${warning}<form method="post" action="${escapeHtml(facts.action)}"><input type="hidden" name="manifest" value="${escapeHtml(JSON.stringify(facts.manifest))}"><p><button>Register on GitHub</button></p></form>`,
  );
}

export function donePage(installUrl: string, file: string): string {
  return page(
    "agent-fix is registered",
    `<p>The credentials are in <code>${escapeHtml(file)}</code>, readable by this user only. This page is gone from now on.</p><p>Next: <a href="${escapeHtml(installUrl)}">install the app on your repositories</a>, then put the label <code>agent-fix</code> on an issue.</p>`,
  );
}

export function problemPage(problem: string): string {
  return page(
    "That did not work",
    `<p class="bad" role="alert">${escapeHtml(problem)}</p><p><a href="/setup">Start again</a></p>`,
  );
}
