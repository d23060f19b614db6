import { setTimeout as wait } from 'node:timers/promises';
import { createActFor } from '@webhooks/core/accounts/act-for';
import { createManageAccounts } from '@webhooks/core/accounts/manage-accounts';
import { createRedisAccountStore } from '@webhooks/core/accounts/redis-account-store';
import { createRedisAdmissionStore } from '@webhooks/core/admission/redis-admission-store';
import type { AuthenticateClient } from '@webhooks/core/api-keys/limit-auth-failures';
import { createManageApiKeys } from '@webhooks/core/api-keys/manage-api-keys';
import { newApiKey } from '@webhooks/core/api-keys/new-api-key';
import { createRedisApiKeyStore } from '@webhooks/core/api-keys/redis-api-key-store';
import { SAME_AS_KEY } from '@webhooks/core/config/allowance';
import { createManageDeadLetters } from '@webhooks/core/dead-letters/manage-dead-letters';
import { createBringForward } from '@webhooks/core/deliveries/bring-forward';
import { createCancelDelivery } from '@webhooks/core/deliveries/cancel-delivery';
import { createDispatchEvents } from '@webhooks/core/deliveries/dispatch-events';
import { createExportAttempts } from '@webhooks/core/deliveries/export-attempts';
import { createFanOutEvent } from '@webhooks/core/deliveries/fan-out-event';
import { createReadDeliveries } from '@webhooks/core/deliveries/read-deliveries';
import { createRedeliver } from '@webhooks/core/deliveries/redeliver';
import { createRedisDeliveryStore } from '@webhooks/core/deliveries/redis-delivery-store';
import { createResend } from '@webhooks/core/deliveries/resend';
import { createClassifyAddress } from '@webhooks/core/egress/classify-address';
import { createDisable } from '@webhooks/core/endpoints/disable';
import { createManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { createReadHealth } from '@webhooks/core/endpoints/read-health';
import { createRedisEndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import { createRedisHealthStore } from '@webhooks/core/endpoints/redis-health-store';
import { createRedisRemoveEndpoints } from '@webhooks/core/endpoints/redis-remove-endpoints';
import { createRequireKnownFilters } from '@webhooks/core/endpoints/require-known-filters';
import { createLookUpEndpoints } from '@webhooks/core/endpoints/resolve-endpoints';
import { newSecret } from '@webhooks/core/endpoints/secret';
import { createSubscriptions } from '@webhooks/core/endpoints/subscriptions';
import { createTestEndpoint } from '@webhooks/core/endpoints/test-endpoint';
import { createEraseAccount } from '@webhooks/core/erasure/erase-account';
import { createRedisRemainsStore } from '@webhooks/core/erasure/redis-remains-store';
import { createAcceptEvents } from '@webhooks/core/events/accept-events';
import { createErasePayload } from '@webhooks/core/events/erase-payload';
import { EventReleaser } from '@webhooks/core/events/event-releaser';
import { createEventTypes } from '@webhooks/core/events/event-types';
import { createReadEvents } from '@webhooks/core/events/read-events';
import { createRedisEventClaimStore } from '@webhooks/core/events/redis-event-claim-store';
import { createRedisEventRelease } from '@webhooks/core/events/redis-event-release';
import { createRedisEventStore } from '@webhooks/core/events/redis-event-store';
import { createRedisEventTypeStore } from '@webhooks/core/events/redis-event-type-store';
import { createValidateEvent } from '@webhooks/core/events/validate-event';
import { createRedisIdempotencyStore, KEPT_MS } from '@webhooks/core/idempotency/redis-idempotency-store';
import { OperationalEvents } from '@webhooks/core/operational-events/operational-events';
import { createBullmqDeadLetterStore } from '@webhooks/core/queue/bullmq-dead-letter-store';
import { BullmqDeliveryQueue } from '@webhooks/core/queue/bullmq-delivery-queue';
import { BullmqErasureQueue } from '@webhooks/core/queue/bullmq-erasure-queue';
import { BullmqEventQueue } from '@webhooks/core/queue/bullmq-event-queue';
import { createBullmqHeldDeliveries } from '@webhooks/core/queue/bullmq-held-deliveries';
import { BullmqQueuedEvents } from '@webhooks/core/queue/bullmq-queued-events';
import { BullmqReplayQueue } from '@webhooks/core/queue/bullmq-replay-queue';
import type { QueueConnection } from '@webhooks/core/queue/queue-connection';
import { createAccountQuota } from '@webhooks/core/quota/account-quota';
import { createRedisUsageStore } from '@webhooks/core/quota/redis-usage-store';
import type { NoteUsage } from '@webhooks/core/quota/usage';
import { UsageRecorder } from '@webhooks/core/quota/usage-recorder';
import { createLimitRate } from '@webhooks/core/rate-limit/limit-rate';
import { createRedisAllowanceStore } from '@webhooks/core/rate-limit/redis-allowance-store';
import { createInOrder } from '@webhooks/core/redis/redis-in-order';
import { createCancelReplay } from '@webhooks/core/replays/cancel-replay';
import { createManageReplays } from '@webhooks/core/replays/manage-replays';
import { createRedisReplayStore } from '@webhooks/core/replays/redis-replay-store';
import { type Clock, steadyClock } from '@webhooks/core/runtime/clock';
import type { NewId } from '@webhooks/core/runtime/ids';
import type { Stoppable } from '@webhooks/core/runtime/shutdown';
import { provideSealer } from '@webhooks/core/secrets/provide-sealer';
import type { Emit } from '@webhooks/core/signals/signals';
import { createApp } from './app';
import type { ApiConfig } from './config';
import type { ProbeOptions } from './http/probes';
import { createRoutes } from './routes/index';

export interface AppContext {
  readonly config: ApiConfig;
  readonly queues: QueueConnection;
  readonly authenticate: AuthenticateClient;
  readonly probes: ProbeOptions;
  readonly newId: NewId;
  readonly clock: Clock;
  readonly emit: Emit;
}

// The body of a request holds the event and a little around it: white space, the names of the members.
const ENVELOPE_BYTES = 4 * 1024;

/** Builds what the API can do, over connections that stand; `parts` are in the order in which they are to be stopped. */
export function composeApp({ config, queues, authenticate, probes, newId, clock, emit }: AppContext) {
  const { redis } = queues;
  const apiKeyStore = createRedisApiKeyStore(redis);
  const usageStore = createRedisUsageStore(redis);
  const usageRecorder = new UsageRecorder({ usageStore, clock, emit });
  const noteUsage: NoteUsage = (accountId, kind, bytes) =>
    usageRecorder.note(accountId, kind, bytes, clock(), config.RETENTION);
  const quota = createAccountQuota({ usageStore, defaultBytes: config.ACCOUNT_QUOTA_BYTES, clock, emit });
  const endpointStore = createRedisEndpointStore(
    redis,
    provideSealer(config.SECRETS_ENCRYPTION_KEY, emit),
    quota.note,
  );
  const accountStore = createRedisAccountStore(redis);
  const eventTypeStore = createRedisEventTypeStore(redis);
  const retention = { ageMs: config.RETENTION, count: config.RETENTION_COUNT };
  const eventReleaser = new EventReleaser({
    eventRelease: createRedisEventRelease(redis),
    usageRecorder,
    retentionMs: retention.ageMs,
    emit,
  });
  const letGo = eventReleaser.add.bind(eventReleaser);
  const eventStore = createRedisEventStore(redis, retention, steadyClock, {
    onPruned: letGo,
    onErased: (accountId, bytes, acceptedAt) =>
      usageRecorder.note(accountId, 'events', -bytes, acceptedAt, retention.ageMs),
  });
  const deliveryStore = createRedisDeliveryStore(redis, retention, letGo);
  const healthStore = createRedisHealthStore(redis, config.RETENTION);
  const admissionStore = createRedisAdmissionStore(redis);
  const heldDeliveries = createBullmqHeldDeliveries(queues);
  const eventQueue = new BullmqEventQueue(queues);
  const subscriptions = createSubscriptions(endpointStore);
  const operationalEvents = new OperationalEvents({ subscriptions, eventQueue, clock, emit });
  const deliveryQueue = new BullmqDeliveryQueue(queues);
  const replayQueue = new BullmqReplayQueue(queues);
  const erasureQueue = new BullmqErasureQueue(queues);
  const remainsStore = createRedisRemainsStore(redis);
  const replayStore = createRedisReplayStore(redis, config.RETENTION, noteUsage);
  const deadLetterStore = createBullmqDeadLetterStore(queues, clock);

  const endpoints = createManageEndpoints({
    endpointStore,
    accountStore,
    deliveryStore,
    healthStore,
    admissionStore,
    heldDeliveries,
    requireKnownFilters: createRequireKnownFilters(eventTypeStore),
    newId,
    newSecret,
    maxEndpoints: config.MAX_WEBHOOKS,
    clock,
    disable: createDisable({ endpointStore, clock, emit }),
    raise: operationalEvents.raise,
  });
  const deliveries = createReadDeliveries({ endpointStore, eventStore, deliveryStore, heldDeliveries });
  const fanOutEvent = createFanOutEvent({
    eventStore,
    deliveryStore,
    admissionStore,
    deliveryQueue,
    inOrder: createInOrder(redis),
    clock,
    emit,
  });
  const acceptEvents = createAcceptEvents({
    dispatchEvents: createDispatchEvents({
      subscriptions,
      fanOutEvent,
      eventQueue,
      requireRoom: (accountId) => quota.requireRoomAsKnown(accountId, 'http'),
    }),
    eventStore,
    eventClaims: createRedisEventClaimStore(redis, config.RETENTION),
    lookUpEndpoints: createLookUpEndpoints(endpointStore),
    emit,
    validateEvent: createValidateEvent({ eventTypeStore, maxBytes: config.MAX_EVENT_BYTES }),
  });
  const eventTypes = createEventTypes({ eventTypeStore, clock });

  const app = createApp({
    routes: createRoutes({
      endpoints,
      readHealth: createReadHealth({ healthStore, admissionStore, heldDeliveries, clock }),
      deliveries,
      exportAttempts: createExportAttempts({ endpointStore, eventStore, deliveryStore, heldDeliveries }),
      events: createReadEvents({ eventStore, countDeliveries: deliveries.countOfEvent }),
      redeliver: createRedeliver({
        deliveries,
        eventStore,
        ...createResend({ eventStore, deliveryStore, resendQueue: deliveryQueue, noteUsage, clock, emit }),
        bringForward: createBringForward({ deliveryStore, delayedJobs: deliveryQueue, clock, emit }),
      }),
      replays: createManageReplays({
        endpointStore,
        replayStore,
        replayQueue,
        clock,
        emit,
      }),
      acceptEvents,
      erasePayload: createErasePayload({
        eventStore,
        deliveryStore,
        queuedEvents: new BullmqQueuedEvents(queues),
        wait,
        clock,
        emit,
      }),
      testEndpoint: createTestEndpoint({ endpoints, eventTypes, deliveryStore, acceptEvents }),
      urlRules: {
        allowHttp: config.ALLOW_HTTP_URLS,
        allowInternalNames: config.DELIVERY_ALLOWED_CIDRS.length > 0,
        classifyAddress: createClassifyAddress({
          allowedCidrs: config.DELIVERY_ALLOWED_CIDRS,
          deniedCidrs: config.DELIVERY_DENIED_CIDRS,
        }),
      },
      apiKeys: createManageApiKeys({ apiKeyStore, accountStore, newKey: () => newApiKey(newId), clock }),
      accounts: createManageAccounts({ accountStore, remainsStore, newId, clock }),
      eraseAccount: createEraseAccount({
        accountStore,
        removeEndpoints: createRedisRemoveEndpoints(redis),
        remainsStore,
        erasureQueue,
        clock,
        emit,
      }),
      eventTypes,
      deadLetters: createManageDeadLetters({
        deadLetterStore,
        cancelDelivery: createCancelDelivery({ deliveryStore, admissionStore, heldDeliveries, clock, emit }),
        cancelReplay: createCancelReplay({ replayStore, clock, emit }),
        emit,
      }),
      quota,
      clock,
    }),
    probes,
    authenticate,
    actFor: createActFor(accountStore),
    quota,
    idempotencyStore: createRedisIdempotencyStore(redis, (accountId, bytes) =>
      usageRecorder.note(accountId, 'answers', bytes, clock(), KEPT_MS),
    ),
    limitRate: createLimitRate({
      allowanceStore: createRedisAllowanceStore(redis),
      ofKey: config.RATE_LIMIT,
      ofAccount: config.ACCOUNT_RATE_LIMIT === SAME_AS_KEY ? config.RATE_LIMIT : config.ACCOUNT_RATE_LIMIT,
      clock,
    }),
    trustProxy: config.TRUST_PROXY,
    hasDocs: config.DOCS_ENABLED,
    maxBodyBytes: config.MAX_EVENT_BYTES + ENVELOPE_BYTES,
    newId,
    clock,
    emit,
  });

  const parts: readonly Stoppable[] = [
    { name: 'operational events', stop: () => operationalEvents.stop() },
    { name: 'event releaser', stop: () => eventReleaser.stop() },
    { name: 'usage recorder', stop: () => usageRecorder.stop() },
    {
      name: 'queues',
      stop: async () =>
        void (await Promise.all(
          [eventQueue, deliveryQueue, replayQueue, erasureQueue, deadLetterStore].map((queue) =>
            queue.close(),
          ),
        )),
    },
  ];
  return { app, parts, quota };
}
