/** Routes by which an app looks at its webhook deliveries and asks for one again. */

import { notFound, ok, paged } from "../answers.ts";
import { type JsonObject, timeText } from "../json.ts";
import { appRoute, type Call, param, type Route } from "../router.ts";
import type { App } from "../state.ts";
import type { Delivery } from "../webhooks.ts";

export const deliveryRoutes: readonly Route[] = [
  appRoute("GET", "/app/hook/deliveries", (call, app) => {
    const own = call.hub.webhooks.deliveries().filter((entry) => entry.appId === app.id);
    const attempted = own.filter((entry) => entry.deliveredAt !== null).reverse();
    return paged(call.query, call.url, attempted.map(deliveryShape));
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
