import { setTimeout as wait } from 'node:timers/promises';
import { createManageApiKeys, newApiKey } from '@hookferry/core/accounts/api-keys';
import type { ExchangeOfClient } from '@hookferry/core/accounts/auth-failures';
import { createManagePortalSessions } from '@hookferry/core/accounts/portal-sessions';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import { createClassifyAddress } from '@hookferry/core/egress/classify-address';
import { createCountDisabled, createDisable } from '@hookferry/core/endpoints/disable';
import {
  createRemoveEventType,
  createRequireKnownFilters,
} from '@hookferry/core/endpoints/filters/event-filters';
import { createTryFilter } from '@hookferry/core/endpoints/filters/try-filter';
import { createReadHealth } from '@hookferry/core/endpoints/health/read-health';
import { createManageEndpoints } from '@hookferry/core/endpoints/manage-endpoints';
import { createRedisRemoveEndpoints } from '@hookferry/core/endpoints/redis-endpoint-store';
import { createLookUpEndpoints } from '@hookferry/core/endpoints/resolve-endpoints';
import { newSecret } from '@hookferry/core/endpoints/rotate-secret';
import { createEventTypes } from '@hookferry/core/event-types/event-types';
import { createExplainHold } from '@hookferry/core/history/complete-deliveries';
import { createExportAttempts } from '@hookferry/core/history/export-attempts';
import { createReadDeliveries } from '@hookferry/core/history/read-deliveries';
import { createReadEvents } from '@hookferry/core/history/read-events';
import { createEraseAccount } from '@hookferry/core/operations/erase-account';
import { createErasePayload } from '@hookferry/core/operations/erase-payload';
import { createListTroubled } from '@hookferry/core/operations/list-troubled';
import { createManageAccounts } from '@hookferry/core/operations/manage-accounts';
import { createReadOperations } from '@hookferry/core/operations/read-operations';
import type { NewId } from '@hookferry/core/platform/ids';
import type { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import { createInOrder } from '@hookferry/core/platform/redis-script';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { createAcceptEvents, createValidateEvent } from '@hookferry/core/publish/accept-events';
import {
  createDispatchEvents,
  createFanOutEvent,
  createRouteEvent,
} from '@hookferry/core/publish/fan-out-event';
import { createRedisEventClaimStore } from '@hookferry/core/publish/redis-event-claim-store';
import { createTestEndpoint } from '@hookferry/core/publish/test-endpoint';
import { createShardedQueuedEvents } from '@hookferry/core/queue/bullmq-event-queue';
import { createCancelDelivery } from '@hookferry/core/replays/cancel-delivery';
import { createManageDeadLetters } from '@hookferry/core/replays/manage-dead-letters';
import { createCancelReplay, createManageReplays } from '@hookferry/core/replays/manage-replays';
import { createBringForward, createRedeliver, createResend } from '@hookferry/core/replays/redeliver';
import { ChangeStreams } from '@hookferry/core/stream/change-streams';
import { composeListeners } from './compose-listeners';
import type { ApiConfig } from './config';
import { createMayGoOn, type MayGoOnDeps } from './http/long-requests';
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
