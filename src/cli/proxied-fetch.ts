/** `fetch` through the proxy that the usual variables name, for GitHub's API; Node's own does not read them. */

import { EnvHttpProxyAgent, fetch as undiciFetch } from "undici";
import type { Environment } from "#src/config/environment.ts";

/** Null when no proxy is named. `NO_PROXY` lists the hosts that are reached directly. */
export function proxiedFetch(env: Environment): typeof fetch | null {
  const httpsProxy = env.HTTPS_PROXY || env.https_proxy;
  const httpProxy = env.HTTP_PROXY || env.http_proxy;
  if (!httpsProxy && !httpProxy) return null;
  // Empty texts, since it would look into the process's own environment for what is left out.
  const dispatcher = new EnvHttpProxyAgent({
    httpsProxy: httpsProxy ?? "",
    httpProxy: httpProxy ?? "",
    noProxy: env.NO_PROXY || env.no_proxy || "",
  });
  const proxied = (url: unknown, init: unknown) =>
    undiciFetch(url as Parameters<typeof undiciFetch>[0], {
      ...(init as Parameters<typeof undiciFetch>[1]),
      dispatcher,
    });
  return proxied as unknown as typeof fetch;
}
