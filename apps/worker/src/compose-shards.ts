import { OpenAccounts } from '@hookferry/core/accounts/resolve-account';
import type { DeliverContext } from '@hookferry/core/deliver/deliver';
import { DELIVERIES_QUEUE, EVENTS_QUEUE, type QueueShard } from '@hookferry/core/domain/queues';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import type { ArchiveStream } from '@hookferry/core/events/archive/redis-archive-stream';
import { steadyClock } from '@hookferry/core/platform/clock';
import type { ConnectOptions } from '@hookferry/core/platform/redis-connect';
import { createInOrder } from '@hookferry/core/platform/redis-script';
import { VERSION } from '@hookferry/core/platform/version';
import { createValidateEvent } from '@hookferry/core/publish/accept-events';
import { createFanOutEvent, createRouteEvent } from '@hookferry/core/publish/fan-out-event';
import { createReadEventJob } from '@hookferry/core/publish/read-event-job';
import { DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import { PushedEvents } from '@hookferry/core/queue/bullmq-pushed-events';
import { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import { composeAdmission } from './compose-admission';
import { composeTransport } from './compose-transport';
import { createDeliverConsumer } from './consumers/bullmq-deliver';
import { createFanOutConsumer } from './consumers/bullmq-fan-out';
import { SharedCapacity } from './consumers/bullmq-worker';
import type { Stores, StoresContext } from './open-stores';
import type { ShardPart } from './served-shards';

export interface ConsumersContext extends Omit<StoresContext, 'servedShards' | 'limitOf'> {
  /** How connections to Redis are made, for the one that waits for attempts to archive. */
  readonly connection: Omit<ConnectOptions, 'name'>;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
}

/** What use cases are made of: stores, under their names, and what else they ask for. */
export type ConsumerDeps = StoresContext & ConsumersContext & Stores;

type ShardConsumer = ReturnType<typeof consumerOf>;

const USER_AGENT = `webhook-delivery-service/${VERSION}`;

// A fan-out mostly waits for Redis; more of them at once would only make each one slower.
const FAN_OUT_CONCURRENCY = 32;
// So a dead worker's deliveries are taken over a quarter of the lock's time after it is over, at most.
const STALLED_CHECKS_PER_LOCK = 4;

/** What takes a shard's jobs: made anew for each, of parts that are there once. */
export function composeShards(deps: ConsumerDeps, archiveStream: ArchiveStream | undefined) {
  const openFanOut = composeFanOut(deps);
  const { openDeliveries, ...once } = composeDeliveries(deps, archiveStream);
  function openShard(shard: QueueShard): ShardPart {
    const consumer = consumerOf(deps, shard);
    const fanOut = openFanOut(consumer);
    const { deliveries, dueDeliveries } = openDeliveries(consumer);
    const parts = [fanOut, deliveries, dueDeliveries];
    return {
      start() {
        for (const part of parts) part.start();
      },
      stop: async () => void (await Promise.all(parts.map((part) => part.stop()))),
      // Those whose jobs are short: nothing done for long, although some wait, is a fault.
      watched: [
        { queue: EVENTS_QUEUE, shard, steps: fanOut.steps },
        { queue: DELIVERIES_QUEUE, shard, steps: deliveries.steps },
      ],
    };
  }
  return { ...once, openShard };
}

/** How the jobs of a shard are taken. */
export function consumerOf({ config, redis, emit }: ConsumerDeps, { prefix }: QueueShard) {
  const lockDurationMs = config.JOB_LOCK_DURATION;
  const stalledCheckMs = Math.ceil(lockDurationMs / STALLED_CHECKS_PER_LOCK);
  return { redis, prefix, lockDurationMs, stalledCheckMs, emit };
}

/** Fans out the events of each shard. */
function composeFanOut(deps: ConsumerDeps) {
  const { config, redis, quota, endpointStore, accountStore, clock } = deps;
  const shared = {
    ...deps,
    capacity: new SharedCapacity(FAN_OUT_CONCURRENCY),
    readEventJob: createReadEventJob({
      validateEvent: createValidateEvent({ ...deps, maxBytes: config.MAX_EVENT_BYTES }),
      endpointStore,
      requireRoom: (accountId) => quota.requireRoomAsKnown(accountId, 'queue'),
      clock,
    }),
    openAccounts: new OpenAccounts(accountStore, steadyClock),
    routeEvent: createRouteEvent(),
    fanOutEvent: createFanOutEvent({ ...deps, inOrder: createInOrder(redis) }),
  };
  return (consumer: ShardConsumer) =>
    createFanOutConsumer({
      ...shared,
      ...consumer,
      pushedEvents: new PushedEvents(consumer, FAN_OUT_CONCURRENCY),
    });
}

/** What delivers what is in a shard, and what releases or brings back what it is to deliver. */
function composeDeliveries(deps: ConsumerDeps, archiveStream: ArchiveStream | undefined) {
  const { config, redis, shards, deliveryQueue } = deps;
  const transport = composeTransport(deps);
  const capacity = new SharedCapacity(config.WORKER_CONCURRENCY);
  const admission = composeAdmission(config, {
    ...deps,
    onCapacity: (attempts) => capacity.setCapacity(attempts),
    random: Math.random,
  });
  const context: DeliverContext = {
    ...deps,
    archiveStream,
    ...admission,
    transport: transport.send,
    retrySchedule: config.RETRY_SCHEDULE,
    requestStyle: {
      userAgent: USER_AGENT,
      signatureHeader: { name: config.SIGNATURE_HEADER, prefix: config.SIGNATURE_PREFIX },
      tellsTrace: config.TRACEPARENT_TO_RECEIVERS,
    },
    random: Math.random,
  };
  const shared = {
    context,
    placement: new DeliveryPlacement(redis, shards, deliveryQueue),
    deliveryQueue,
    stopDeadlineMs: config.SHUTDOWN_TIMEOUT,
    capacity,
  };
  const openDeliveries = (consumer: ShardConsumer) => {
    const dueDeliveries = new DueDeliveries({ ...deps, connection: consumer });
    return { deliveries: createDeliverConsumer({ ...shared, ...consumer, dueDeliveries }), dueDeliveries };
  };
  const { releaser, slots, concurrency } = admission;
  return { openDeliveries, transport, releaser, slots, concurrency };
}
