import { setTimeout as wait } from 'node:timers/promises';
import { createAccountQuota } from '@webhooks/core/accounts/account-quota';
import { createActFor } from '@webhooks/core/accounts/act-for';
import type { AuthenticateClient } from '@webhooks/core/accounts/limit-auth-failures';
import { createLimitRate } from '@webhooks/core/accounts/limit-rate';
import { createManageApiKeys } from '@webhooks/core/accounts/manage-api-keys';
import { newApiKey } from '@webhooks/core/accounts/new-api-key';
import { createRedisAccountStore } from '@webhooks/core/accounts/redis-account-store';
import { createRedisAllowanceStore } from '@webhooks/core/accounts/redis-allowance-store';
import { createRedisApiKeyStore } from '@webhooks/core/accounts/redis-api-key-store';
import { createRedisUsageStore } from '@webhooks/core/accounts/redis-usage-store';
import { UsageRecorder } from '@webhooks/core/accounts/usage-recorder';
import { createRedisAdmissionStore } from '@webhooks/core/admission/redis-admission-store';
import { createEventTypes } from '@webhooks/core/catalogue/event-types';
import { createRedisEventTypeStore } from '@webhooks/core/catalogue/redis-event-type-store';
import { createClassifyAddress } from '@webhooks/core/egress/classify-address';
import { createDisable } from '@webhooks/core/endpoints/disable';
import { provideSealer } from '@webhooks/core/endpoints/provide-sealer';
import { createRedisEndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import { createRedisHealthStore } from '@webhooks/core/endpoints/redis-health-store';
import { createRedisRemoveEndpoints } from '@webhooks/core/endpoints/redis-remove-endpoints';
import { createLookUpEndpoints } from '@webhooks/core/endpoints/resolve-endpoints';
import { newSecret } from '@webhooks/core/endpoints/secret';
import { createSubscriptions } from '@webhooks/core/endpoints/subscriptions';
import { createExplainHold } from '@webhooks/core/history/explain-hold';
import { createExportAttempts } from '@webhooks/core/history/export-attempts';
import { createReadDeliveries } from '@webhooks/core/history/read-deliveries';
import { createReadEvents } from '@webhooks/core/history/read-events';
import { createAcceptEvents } from '@webhooks/core/intake/accept-events';
import { createDispatchEvents } from '@webhooks/core/intake/dispatch-events';
import { createFanOutEvent } from '@webhooks/core/intake/fan-out-event';
import { OperationalEvents } from '@webhooks/core/intake/operational-events';
import { createRedisEventClaimStore } from '@webhooks/core/intake/redis-event-claim-store';
import { createRedisIdempotencyStore, KEPT_MS } from '@webhooks/core/intake/redis-idempotency-store';
import { createValidateEvent } from '@webhooks/core/intake/validate-event';
import { SAME_AS_KEY } from '@webhooks/core/kernel/allowance';
import { type Clock, steadyClock } from '@webhooks/core/kernel/clock';
import type { NewId } from '@webhooks/core/kernel/ids';
import { createInOrder } from '@webhooks/core/kernel/redis-in-order';
import type { Stoppable } from '@webhooks/core/kernel/shutdown';
import { createEraseAccount } from '@webhooks/core/manage/erase-account';
import { createErasePayload } from '@webhooks/core/manage/erase-payload';
import { createManageAccounts } from '@webhooks/core/manage/manage-accounts';
import { createManageEndpoints } from '@webhooks/core/manage/manage-endpoints';
import { createReadHealth } from '@webhooks/core/manage/read-health';
import { createRedisRemainsStore } from '@webhooks/core/manage/redis-remains-store';
import { createRequireKnownFilters } from '@webhooks/core/manage/require-known-filters';
import { createTestEndpoint } from '@webhooks/core/manage/test-endpoint';
import type { Emit } from '@webhooks/core/model/signal';
import type { NoteUsage } from '@webhooks/core/model/usage';
import { createBullmqDeadLetterStore } from '@webhooks/core/queue/bullmq-dead-letter-store';
import { BullmqDeliveryQueue } from '@webhooks/core/queue/bullmq-delivery-queue';
import { BullmqErasureQueue } from '@webhooks/core/queue/bullmq-erasure-queue';
import { BullmqEventQueue } from '@webhooks/core/queue/bullmq-event-queue';
import { createBullmqHeldDeliveries } from '@webhooks/core/queue/bullmq-held-deliveries';
import type { QueueConnection } from '@webhooks/core/queue/bullmq-open-queue';
import { BullmqQueuedEvents } from '@webhooks/core/queue/bullmq-queued-events';
import { BullmqReplayQueue } from '@webhooks/core/queue/bullmq-replay-queue';
import { EventReleaser } from '@webhooks/core/record/event-releaser';
import { createRedisDeliveryStore } from '@webhooks/core/record/redis-delivery-store';
import { createRedisEventRelease } from '@webhooks/core/record/redis-event-release';
import { createRedisEventStore } from '@webhooks/core/record/redis-event-store';
import { createBringForward } from '@webhooks/core/recovery/bring-forward';
import { createCancelDelivery } from '@webhooks/core/recovery/cancel-delivery';
import { createCancelReplay } from '@webhooks/core/recovery/cancel-replay';
import { createManageDeadLetters } from '@webhooks/core/recovery/manage-dead-letters';
import { createManageReplays } from '@webhooks/core/recovery/manage-replays';
import { createRedeliver } from '@webhooks/core/recovery/redeliver';
import { createRedisReplayStore } from '@webhooks/core/recovery/redis-replay-store';
import { createResend } from '@webhooks/core/recovery/resend';
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
  const explainHold = createExplainHold({ admissionStore, clock });
  const deliveries = createReadDeliveries({
    endpointStore,
    eventStore,
    deliveryStore,
    heldDeliveries,
    explainHold,
  });
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
    readEndpointsVersion: subscriptions.readVersion,
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
