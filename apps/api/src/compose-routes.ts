import { setTimeout as wait } from 'node:timers/promises';
import { createManageApiKeys } from '@webhooks/core/accounts/manage-api-keys';
import { newApiKey } from '@webhooks/core/accounts/new-api-key';
import { createEventTypes } from '@webhooks/core/catalogue/event-types';
import { createClassifyAddress } from '@webhooks/core/egress/classify-address';
import { createDisable } from '@webhooks/core/endpoints/disable';
import { createRedisRemoveEndpoints } from '@webhooks/core/endpoints/redis-remove-endpoints';
import { createLookUpEndpoints } from '@webhooks/core/endpoints/resolve-endpoints';
import { newSecret } from '@webhooks/core/endpoints/secret';
import { createExplainHold } from '@webhooks/core/history/explain-hold';
import { createExportAttempts } from '@webhooks/core/history/export-attempts';
import { createReadDeliveries } from '@webhooks/core/history/read-deliveries';
import { createReadEvents } from '@webhooks/core/history/read-events';
import { createAcceptEvents } from '@webhooks/core/intake/accept-events';
import { createDispatchEvents } from '@webhooks/core/intake/dispatch-events';
import { createFanOutEvent } from '@webhooks/core/intake/fan-out-event';
import { createRedisEventClaimStore } from '@webhooks/core/intake/redis-event-claim-store';
import { createValidateEvent } from '@webhooks/core/intake/validate-event';
import type { NewId } from '@webhooks/core/kernel/ids';
import { createInOrder } from '@webhooks/core/kernel/redis-in-order';
import { createEraseAccount } from '@webhooks/core/manage/erase-account';
import { createErasePayload } from '@webhooks/core/manage/erase-payload';
import { createManageAccounts } from '@webhooks/core/manage/manage-accounts';
import { createManageEndpoints } from '@webhooks/core/manage/manage-endpoints';
import { createReadHealth } from '@webhooks/core/manage/read-health';
import { createRequireKnownFilters } from '@webhooks/core/manage/require-known-filters';
import { createTestEndpoint } from '@webhooks/core/manage/test-endpoint';
import { BullmqQueuedEvents } from '@webhooks/core/queue/bullmq-queued-events';
import { createBringForward } from '@webhooks/core/recovery/bring-forward';
import { createCancelDelivery } from '@webhooks/core/recovery/cancel-delivery';
import { createCancelReplay } from '@webhooks/core/recovery/cancel-replay';
import { createManageDeadLetters } from '@webhooks/core/recovery/manage-dead-letters';
import { createManageReplays } from '@webhooks/core/recovery/manage-replays';
import { createRedeliver } from '@webhooks/core/recovery/redeliver';
import { createResend } from '@webhooks/core/recovery/resend';
import type { ApiConfig } from './config';
import type { Stores, StoresContext } from './open-stores';
import { createRoutes } from './routes/index';

/** What use cases are made of: stores, under their names, and what else they ask for. */
interface RoutesContext extends StoresContext {
  readonly newId: NewId;
}

type Deps = RoutesContext & Stores;

/** The routes, each with the use cases that it calls. */
export function composeRoutes(context: RoutesContext, stores: Stores) {
  const deps: Deps = { ...context, ...stores };
  const { config, quota, clock } = deps;
  const endpoints = composeEndpoints(deps);
  const deliveries = createReadDeliveries({ ...deps, explainHold: createExplainHold(deps) });
  const acceptEvents = composeIntake(deps);
  const eventTypes = createEventTypes(deps);
  return createRoutes({
    endpoints,
    readHealth: createReadHealth(deps),
    deliveries,
    exportAttempts: createExportAttempts(deps),
    events: createReadEvents({ ...deps, countDeliveries: deliveries.countOfEvent }),
    redeliver: createRedeliver({
      ...deps,
      deliveries,
      ...createResend({ ...deps, resendQueue: deps.deliveryQueue }),
      bringForward: createBringForward({ ...deps, delayedJobs: deps.deliveryQueue }),
    }),
    replays: createManageReplays(deps),
    acceptEvents,
    erasePayload: createErasePayload({ ...deps, queuedEvents: new BullmqQueuedEvents(deps.queues), wait }),
    testEndpoint: createTestEndpoint({ ...deps, endpoints, eventTypes, acceptEvents }),
    urlRules: urlRulesOf(config),
    apiKeys: createManageApiKeys({ ...deps, newKey: () => newApiKey(deps.newId) }),
    accounts: createManageAccounts(deps),
    eraseAccount: createEraseAccount({
      ...deps,
      removeEndpoints: createRedisRemoveEndpoints(deps.queues.redis),
    }),
    eventTypes,
    deadLetters: createManageDeadLetters({
      ...deps,
      cancelDelivery: createCancelDelivery(deps),
      cancelReplay: createCancelReplay(deps),
    }),
    quota,
    clock,
  });
}

function composeEndpoints(deps: Deps) {
  return createManageEndpoints({
    ...deps,
    requireKnownFilters: createRequireKnownFilters(deps.eventTypeStore),
    newSecret,
    maxEndpoints: deps.config.MAX_WEBHOOKS,
    disable: createDisable(deps),
    raise: deps.operationalEvents.raise,
  });
}

function composeIntake(deps: Deps) {
  const { config, queues, quota, endpointStore } = deps;
  return createAcceptEvents({
    ...deps,
    dispatchEvents: createDispatchEvents({
      ...deps,
      fanOutEvent: createFanOutEvent({ ...deps, inOrder: createInOrder(queues.redis) }),
      requireRoom: (accountId) => quota.requireRoomAsKnown(accountId, 'http'),
    }),
    eventClaims: createRedisEventClaimStore(queues.redis, config.RETENTION),
    lookUpEndpoints: createLookUpEndpoints(endpointStore),
    validateEvent: createValidateEvent({ ...deps, maxBytes: config.MAX_EVENT_BYTES }),
  });
}

function urlRulesOf(config: ApiConfig) {
  return {
    allowHttp: config.ALLOW_HTTP_URLS,
    allowInternalNames: config.DELIVERY_ALLOWED_CIDRS.length > 0,
    classifyAddress: createClassifyAddress({
      allowedCidrs: config.DELIVERY_ALLOWED_CIDRS,
      deniedCidrs: config.DELIVERY_DENIED_CIDRS,
    }),
  };
}
