import { setTimeout as wait } from 'node:timers/promises';
import type { ExchangeOfClient } from '@hookferry/core/accounts/limit-exchanges';
import { createManageApiKeys } from '@hookferry/core/accounts/manage-api-keys';
import { createManagePortalSessions } from '@hookferry/core/accounts/manage-portal-sessions';
import { newApiKey } from '@hookferry/core/accounts/new-credential';
import { createEventTypes } from '@hookferry/core/catalogue/event-types';
import { ChangeStreams } from '@hookferry/core/changes/change-streams';
import { createClassifyAddress } from '@hookferry/core/egress/classify-address';
import { createCountDisabled } from '@hookferry/core/endpoints/count-disabled';
import { createDisable } from '@hookferry/core/endpoints/disable';
import { createRedisRemoveEndpoints } from '@hookferry/core/endpoints/redis-remove-endpoints';
import { createLookUpEndpoints } from '@hookferry/core/endpoints/resolve-endpoints';
import { newSecret } from '@hookferry/core/endpoints/secret';
import { createExplainHold } from '@hookferry/core/history/explain-hold';
import { createExportAttempts } from '@hookferry/core/history/export-attempts';
import { createReadDeliveries } from '@hookferry/core/history/read-deliveries';
import { createReadEvents } from '@hookferry/core/history/read-events';
import { createAcceptEvents } from '@hookferry/core/intake/accept-events';
import { createDispatchEvents } from '@hookferry/core/intake/dispatch-events';
import { createFanOutEvent } from '@hookferry/core/intake/fan-out-event';
import { createRedisEventClaimStore } from '@hookferry/core/intake/redis-event-claim-store';
import { createRouteEvent } from '@hookferry/core/intake/route-event';
import { createValidateEvent } from '@hookferry/core/intake/validate-event';
import type { NewId } from '@hookferry/core/kernel/ids';
import { createInOrder } from '@hookferry/core/kernel/redis-in-order';
import type { ConnectionHealth } from '@hookferry/core/kernel/redis-keeper';
import type { Stoppable } from '@hookferry/core/kernel/shutdown';
import { createEraseAccount } from '@hookferry/core/manage/erase-account';
import { createErasePayload } from '@hookferry/core/manage/erase-payload';
import { createListTroubled } from '@hookferry/core/manage/list-troubled';
import { createManageAccounts } from '@hookferry/core/manage/manage-accounts';
import { createManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import { createReadHealth } from '@hookferry/core/manage/read-health';
import { createReadOperations } from '@hookferry/core/manage/read-operations';
import { createRemoveEventType } from '@hookferry/core/manage/remove-event-type';
import { createRequireKnownFilters } from '@hookferry/core/manage/require-known-filters';
import { createTestEndpoint } from '@hookferry/core/manage/test-endpoint';
import { createTryFilter } from '@hookferry/core/manage/try-filter';
import type { BeginSpan } from '@hookferry/core/model/trace';
import { createShardedQueuedEvents } from '@hookferry/core/queue/sharded-events';
import { createBringForward } from '@hookferry/core/recovery/bring-forward';
import { createCancelDelivery } from '@hookferry/core/recovery/cancel-delivery';
import { createCancelReplay } from '@hookferry/core/recovery/cancel-replay';
import { createManageDeadLetters } from '@hookferry/core/recovery/manage-dead-letters';
import { createManageReplays } from '@hookferry/core/recovery/manage-replays';
import { createRedeliver } from '@hookferry/core/recovery/redeliver';
import { createResend } from '@hookferry/core/recovery/resend';
import { composeListeners } from './compose-listeners';
import type { ApiConfig } from './config';
import { createMayGoOn, type MayGoOnDeps } from './http/may-go-on';
import type { Stores, StoresContext } from './open-stores';
import { createRoutes } from './routes/index';

interface RoutesContext extends StoresContext, MayGoOnDeps {
  readonly exchangeCode: ExchangeOfClient;
  readonly connectionHealth: ConnectionHealth;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly newId: NewId;
}

/** What use cases are made of: stores, under their names, and what else they ask for. */
type Deps = RoutesContext & Stores;

/** The routes, each with the use cases that it calls; `streams` are answers that go on until they are stopped. */
export function composeRoutes(context: RoutesContext, stores: Stores) {
  const deps: Deps = { ...context, ...stores };
  const { config, quota, clock } = deps;
  const endpoints = composeEndpoints(deps);
  const deliveries = createReadDeliveries({ ...deps, explainHold: createExplainHold(deps) });
  const acceptEvents = composeIntake(deps);
  const eventTypes = createEventTypes(deps);
  const replays = createManageReplays(deps);
  const { listeners, listenerStreams, parts: streams } = composeListeners({ ...deps, endpoints, replays });
  const changeStreams = new ChangeStreams(deps);
  const routes = createRoutes({
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
    replays,
    listeners,
    listenerStreams,
    changeStreams,
    mayGoOn: createMayGoOn(deps),
    acceptEvents,
    erasePayload: createErasePayload({
      ...deps,
      queuedEvents: createShardedQueuedEvents(deps.redis, deps.shards),
      wait,
    }),
    testEndpoint: createTestEndpoint({ ...deps, endpoints, eventTypes, acceptEvents }),
    tryFilter: createTryFilter({
      ...deps,
      eventTypes,
      requireKnownFilters: createRequireKnownFilters(deps.eventTypeStore),
    }),
    urlRules: urlRulesOf(config),
    apiKeys: createManageApiKeys({ ...deps, newKey: () => newApiKey(deps.newId) }),
    portalSessions: createManagePortalSessions({
      ...deps,
      requireRoom: (accountId) => quota.requireRoom(accountId, 'http'),
    }),
    exchangeCode: deps.exchangeCode,
    publicUrl: config.PUBLIC_URL,
    accounts: createManageAccounts(deps),
    eraseAccount: createEraseAccount({
      ...deps,
      removeEndpoints: createRedisRemoveEndpoints(deps.redis),
    }),
    eventTypes,
    removeEventType: createRemoveEventType({ ...deps, eventTypes }),
    deadLetters: createManageDeadLetters({
      ...deps,
      cancelDelivery: createCancelDelivery(deps),
      cancelReplay: createCancelReplay(deps),
    }),
    quota,
    clock,
    ...composeOperations(deps),
  });
  const changes: Stoppable = { name: 'change streams', stop: async () => changeStreams.stop() };
  return { routes, streams: [changes, ...streams] };
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
  const { config, redis, quota, endpointStore } = deps;
  return createAcceptEvents({
    ...deps,
    dispatchEvents: createDispatchEvents({
      ...deps,
      routeEvent: createRouteEvent(),
      fanOutEvent: createFanOutEvent({ ...deps, inOrder: createInOrder(redis) }),
      requireRoom: (accountId) => quota.requireRoomAsKnown(accountId, 'http'),
    }),
    eventClaims: createRedisEventClaimStore(redis, config.RETENTION),
    lookUpEndpoints: createLookUpEndpoints(endpointStore),
    validateEvent: createValidateEvent({ ...deps, maxBytes: config.MAX_EVENT_BYTES }),
  });
}

function composeOperations(deps: Deps) {
  const countDisabled = createCountDisabled(deps);
  return {
    readOperations: createReadOperations({ ...deps, countDisabled }),
    listTroubled: createListTroubled(deps),
  };
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
