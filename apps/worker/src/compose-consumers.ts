import { createTakesEvents } from '@hookferry/core/accounts/takes-events';
import { createDeliver } from '@hookferry/core/attempt/deliver';
import { createRedisRemoveEndpoints } from '@hookferry/core/endpoints/redis-remove-endpoints';
import { createLookUpEndpoints } from '@hookferry/core/endpoints/resolve-endpoints';
import { createFanOutEvent } from '@hookferry/core/intake/fan-out-event';
import { createValidateEvent } from '@hookferry/core/intake/validate-event';
import { steadyClock } from '@hookferry/core/kernel/clock';
import type { ConnectOptions } from '@hookferry/core/kernel/redis-connect';
import { createInOrder } from '@hookferry/core/kernel/redis-in-order';
import { VERSION } from '@hookferry/core/kernel/version';
import { createStepErasure } from '@hookferry/core/manage/step-erasure';
import type { QueueShard } from '@hookferry/core/model/queue-layout';
import { BullmqDeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import { BullmqEventHorizon } from '@hookferry/core/queue/bullmq-event-horizon';
import { FormerDeliveries } from '@hookferry/core/queue/bullmq-former-deliveries';
import { PushedEvents } from '@hookferry/core/queue/bullmq-pushed-events';
import { createDeliveryPlacement } from '@hookferry/core/queue/delivery-placement';
import { createReadEventJob } from '@hookferry/core/queue/read-event-job';
import { createRedisSendingClaims } from '@hookferry/core/queue/redis-sending-claims';
import { createRedisArchiveStream } from '@hookferry/core/record/redis-archive-stream';
import { createChooseEvents } from '@hookferry/core/recovery/choose-events';
import { createResend } from '@hookferry/core/recovery/resend';
import { createStepReplay } from '@hookferry/core/recovery/step-replay';
import { registerPromAccountQuota, registerPromArchiveBacklog } from '@hookferry/core/telemetry/prom-gauges';
import type { Registry } from 'prom-client';
import { composeAdmission } from './compose-admission';
import { composeArchive } from './compose-archive';
import { composeTransport } from './compose-transport';
import { createDeliverConsumer } from './consumers/bullmq-deliver';
import { createErasureConsumer } from './consumers/bullmq-erasure';
import { createFanOutConsumer } from './consumers/bullmq-fan-out';
import { createReplayConsumer } from './consumers/bullmq-replay';
import { SharedCapacity } from './consumers/shared-capacity';
import { openStores, type Stores, type StoresContext } from './open-stores';
import { ServedShards, type ShardPart } from './served-shards';

export interface ConsumersContext extends Omit<StoresContext, 'servedShards'> {
  /** How connections to Redis are made, for the one that waits for attempts to archive. */
  readonly connection: Omit<ConnectOptions, 'name'>;
  readonly registry: Registry;
  readonly workerId: string;
}

/** What use cases are made of: stores, under their names, and what else they ask for. */
type Deps = ConsumersContext & Stores;

const USER_AGENT = `webhook-delivery-service/${VERSION}`;

// A fan-out mostly waits for Redis; more of them at once would only make each one slower.
const FAN_OUT_CONCURRENCY = 32;
const REPLAY_CONCURRENCY = 8;
const ERASURE_CONCURRENCY = 2;
// So a dead worker's deliveries are taken over a quarter of the lock's time after it is over, at most.
const STALLED_CHECKS_PER_LOCK = 4;

/** Builds what takes jobs, over connections that stand, and what works for it on the side. Nothing is started. */
export function composeConsumers(context: ConsumersContext) {
  // What is composed for a shard is made when it is served; what it is made of asks which ones are.
  const servedShards = (): readonly QueueShard[] => served.list();
  const storesContext = { ...context, servedShards };
  const deps: Deps = { ...storesContext, ...openStores(storesContext) };
  const archive = composeArchive(context.config, context);
  const { registry, recorders, openQueues } = deps;
  registerPromAccountQuota(registry, deps.quota.standings);
  const fanOut = composeFanOut(deps);
  const { deliveries, transport, releasers } = composeDeliveries(deps, archive !== undefined);
  const slow = [composeReplays(deps), composeErasures(deps)];
  const served = new ServedShards(
    (shard) => together(fanOut(shard), ...deliveries(shard)),
    deps.config.WORKER_SHARDS,
  );
  return {
    served,
    consumers: [...slow, ...(archive ? [archive.archiver] : [])],
    // These let go what consumers take, or bring it to where they take it from.
    releasers,
    archiveParts: archive?.parts ?? [],
    recorders,
    transport,
    openQueues,
  };
}

function together(...parts: readonly ShardPart[]): ShardPart {
  return {
    start: () => {
      for (const part of parts) part.start();
    },
    stop: async () => void (await Promise.all(parts.map((part) => part.stop()))),
  };
}

/** How jobs are taken. */
function consumerOf({ config, redis, emit }: Deps, { prefix }: QueueShard) {
  const lockDurationMs = config.JOB_LOCK_DURATION;
  const stalledCheckMs = Math.ceil(lockDurationMs / STALLED_CHECKS_PER_LOCK);
  return { redis, prefix, lockDurationMs, stalledCheckMs, emit };
}

/** How those are taken that nobody waits for by the second. They are few, and all in the first shard. */
function backgroundOf(deps: Deps) {
  return { ...consumerOf(deps, deps.shards.first), stalledCheckMs: deps.config.JOB_LOCK_DURATION };
}

/** Fans out the events of each shard. */
function composeFanOut(deps: Deps) {
  const { config, redis, quota, endpointStore, accountStore, clock } = deps;
  const shared = {
    ...deps,
    capacity: new SharedCapacity(FAN_OUT_CONCURRENCY),
    readEventJob: createReadEventJob({
      validateEvent: createValidateEvent({ ...deps, maxBytes: config.MAX_EVENT_BYTES }),
      lookUpEndpoints: createLookUpEndpoints(endpointStore),
      requireRoom: (accountId) => quota.requireRoomAsKnown(accountId, 'queue'),
      clock,
    }),
    takesEvents: createTakesEvents(accountStore, steadyClock),
    fanOutEvent: createFanOutEvent({ ...deps, inOrder: createInOrder(redis) }),
  };
  return (shard: QueueShard) => {
    const consumer = consumerOf(deps, shard);
    return createFanOutConsumer({
      ...shared,
      ...consumer,
      eventHorizon: new BullmqEventHorizon(consumer),
      pushedEvents: new PushedEvents(consumer, FAN_OUT_CONCURRENCY),
    });
  };
}

/** What delivers what is in a shard, and what releases or brings back what it is to deliver. */
function composeDeliveries(deps: Deps, hasArchive: boolean) {
  const { config, redis, shards, registry, operationalEvents } = deps;
  const archiveStream = hasArchive ? createRedisArchiveStream(redis) : undefined;
  if (archiveStream) registerPromArchiveBacklog(registry, archiveStream);
  const transport = composeTransport(config, deps.emit);
  const capacity = new SharedCapacity(config.WORKER_CONCURRENCY);
  const admission = composeAdmission(config, {
    ...deps,
    onCapacity: (attempts) => capacity.setCapacity(attempts),
    random: Math.random,
  });
  // That version had no shards: what it has left is in the first, from where it is brought home.
  const firstShard = consumerOf(deps, shards.first);
  const firstQueue = new BullmqDeliveryQueue(firstShard);
  const formerDeliveries = new FormerDeliveries({
    ...deps,
    connection: firstShard,
    deliveryQueue: firstQueue,
  });
  const shared = {
    deliver: createDeliver({
      ...deps,
      archiveStream,
      ...admission,
      raise: operationalEvents.raise,
      transport: transport.send,
      retrySchedule: config.RETRY_SCHEDULE,
      requestStyle: {
        userAgent: USER_AGENT,
        signatureHeader: { name: config.SIGNATURE_HEADER, prefix: config.SIGNATURE_PREFIX },
      },
      random: Math.random,
    }),
    formerDeliveries,
    placement: createDeliveryPlacement({ ...deps, claims: createRedisSendingClaims(redis) }),
    stopDeadlineMs: config.SHUTDOWN_TIMEOUT,
    capacity,
  };
  const deliveries = (shard: QueueShard): readonly ShardPart[] => {
    const consumer = consumerOf(deps, shard);
    const dueDeliveries = new DueDeliveries({ ...deps, connection: consumer });
    return [createDeliverConsumer({ ...shared, ...consumer, dueDeliveries }), dueDeliveries];
  };
  return { deliveries, transport, releasers: [admission.releaser, formerDeliveries] };
}

function composeReplays(deps: Deps) {
  return createReplayConsumer({
    ...backgroundOf(deps),
    capacity: new SharedCapacity(REPLAY_CONCURRENCY),
    stepReplay: createStepReplay({
      ...deps,
      chooseEvents: createChooseEvents(deps),
      ...createResend({ ...deps, resendQueue: deps.deliveryQueue }),
    }),
  });
}

function composeErasures(deps: Deps) {
  return createErasureConsumer({
    ...backgroundOf(deps),
    capacity: new SharedCapacity(ERASURE_CONCURRENCY),
    stepErasure: createStepErasure({
      ...deps,
      removeEndpoints: createRedisRemoveEndpoints(deps.redis),
      deliveryJobs: deps.deliveryQueue,
      retentionMs: deps.config.RETENTION,
    }),
  });
}
