/** Routes by which an app looks at its webhook deliveries and asks for one again. */

import { type Answer, notFound, ok } from "../answers.ts";
import { type JsonObject, timeText } from "../json.ts";
import { appRoute, type Call, param, type Route } from "../router.ts";
import type { App } from "../state.ts";
import type { Delivery } from "../webhooks.ts";

export const deliveryRoutes: readonly Route[] = [
  appRoute("GET", "/app/hook/deliveries", (call, app) => {
    const own = call.hub.webhooks.deliveries().filter((entry) => entry.appId === app.id);
    const attempted = own.filter((entry) => entry.deliveredAt !== null).sort((a, b) => b.id - a.id);
    return pageByCursor(call, attempted);
  }),
  appRoute("GET", "/app/hook/deliveries/{delivery_id}", (call, app) => {
    const delivery = deliveryOf(call, app);
    return ok({
      ...deliveryShape(delivery),
      url: delivery.url ?? "",
      request: { headers: delivery.headers, payload: JSON.parse(delivery.body) },
      response: { headers: null, payload: delivery.answer },
    });
  }),
  appRoute("POST", "/app/hook/deliveries/{delivery_id}/attempts", (call, app) => {
    call.hub.webhooks.redeliver(deliveryOf(call, app).id);
    return { status: 202, body: {} };
  }),
];

const DEFAULT_PAGE = 30;
const LARGEST_PAGE = 100;

/** GitHub pages this list by a cursor and not by numbers. */
function pageByCursor({ query, url }: Call, attempts: readonly Delivery[]): Answer {
  const perPage = Math.min(LARGEST_PAGE, Number(query.get("per_page") ?? DEFAULT_PAGE));
  const before = Number(/^v1_(\d+)$/.exec(query.get("cursor") ?? "")?.[1] ?? Number.POSITIVE_INFINITY);
  const rest = attempts.filter(({ id }) => id < before);
  const page = rest.slice(0, perPage);
  const next = new URLSearchParams({ per_page: String(perPage), cursor: `v1_${page.at(-1)?.id ?? 0}` });
  return {
    ...ok(page.map(deliveryShape)),
    headers: rest.length > perPage ? { link: `<${url}?${next}>; rel="next"` } : {},
  };
}

function deliveryOf(call: Call, app: App): Delivery {
  const id = Number(param(call, "delivery_id"));
  const found = call.hub.webhooks.deliveries().find((entry) => entry.id === id);
  if (found === undefined || found.appId !== app.id) throw notFound();
  return found;
}

function deliveryShape(delivery: Delivery): JsonObject {
  return {
    id: delivery.id,
    guid: delivery.guid,
    delivered_at: timeText(delivery.deliveredAt ?? 0),
    redelivery: delivery.redelivery,
    duration: delivery.duration,
    status: delivery.status,
    status_code: delivery.statusCode,
    event: delivery.event,
    action: delivery.action,
    installation_id: delivery.installationId,
    repository_id: delivery.repositoryId,
    throttled_at: null,
  };
}
