import type { ReadDeliveries } from '@webhooks/core/deliveries/read-deliveries';
import type { TargetUrlRules } from '@webhooks/core/egress/target-url';
import type { ManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import type { AcceptEvents } from '@webhooks/core/events/accept-events';
import type { Route } from '../http/route';
import { createWebhook } from './create-webhook';
import { deleteWebhook } from './delete-webhook';
import { disableWebhook } from './disable-webhook';
import { enableWebhook } from './enable-webhook';
import { listWebhookDeliveries } from './list-webhook-deliveries';
import { listWebhooks } from './list-webhooks';
import { publishBatch } from './publish-batch';
import { publishEvent } from './publish-event';
import { readDelivery } from './read-delivery';
import { readWebhook } from './read-webhook';
import { updateWebhook } from './update-webhook';

export interface RouteDeps {
  readonly endpoints: ManageEndpoints;
  readonly deliveries: ReadDeliveries;
  readonly acceptEvents: AcceptEvents;
  readonly urlRules: TargetUrlRules;
}

/** Everything under /v1. Each route's file says its method, path, scope and shape. */
export function createRoutes({ endpoints, deliveries, acceptEvents, urlRules }: RouteDeps): readonly Route[] {
  return [
    createWebhook(endpoints, urlRules), //   POST   /v1/webhooks
    listWebhooks(endpoints), //              GET    /v1/webhooks
    readWebhook(endpoints), //               GET    /v1/webhooks/:id
    updateWebhook(endpoints, urlRules), //   PATCH  /v1/webhooks/:id
    deleteWebhook(endpoints), //             DELETE /v1/webhooks/:id
    enableWebhook(endpoints), //             POST   /v1/webhooks/:id/enable
    disableWebhook(endpoints), //            POST   /v1/webhooks/:id/disable
    listWebhookDeliveries(deliveries), //    GET    /v1/webhooks/:id/deliveries
    readDelivery(deliveries), //             GET    /v1/deliveries/:id
    publishEvent(acceptEvents), //           POST   /v1/events
    publishBatch(acceptEvents), //           POST   /v1/events/batch
  ];
}
