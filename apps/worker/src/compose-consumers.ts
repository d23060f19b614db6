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
import { DELIVERIES_QUEUE, EVENTS_QUEUE } from '@hookferry/core/model/queue-names';
import type { BeginSpan } from '@hookferry/core/model/trace';
import { DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import { FormerDeliveries } from '@hookferry/core/queue/bullmq-former-deliveries';
import { NewerJobs } from '@hookferry/core/queue/bullmq-newer-jobs';
import { PushedEvents } from '@hookferry/core/queue/bullmq-pushed-events';
import { JOB_VERSION } from '@hookferry/core/queue/job-version';
import { createReadEventJob } from '@hookferry/core/queue/read-event-job';
import { createRedisArchiveStream } from '@hookferry/core/record/redis-archive-stream';
import { createChooseEvents } from '@hookferry/core/recovery/choose-events';
import { createResend } from '@hookferry/core/recovery/resend';
import { createStepReplay } from '@hookferry/core/recovery/step-replay';
import { registerPromAccountQuota, registerPromArchiveBacklog } from '@hookferry/core/telemetry/prom-gauges';
import type { Registry } from 'prom-client';
import { composeAdmission } from './compose-admission';
import { composeArchive } from './compose-archive';
import { composeTransport } from './compose-transport';
import { createDeliverConsumer, type DeliverConsumer } from './consumers/bullmq-deliver';
import { createErasureConsumer } from './consumers/bullmq-erasure';
import { createFanOutConsumer } from './consumers/bullmq-fan-out';
import { createReplayConsumer } from './consumers/bullmq-replay';
import { openStores, type Stores, type StoresContext } from './open-stores';

export interface ConsumersContext extends StoresContext {
  /** How connections to Redis are made, for the one that waits for attempts to archive. */
  readonly connection: Omit<ConnectOptions, 'name'>;
  readonly registry: Registry;
  readonly workerId: string;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
}

/** What use cases are made of: stores, under their names, and what else they ask for. */
type Deps = ConsumersContext & Stores & { readonly newerJobs: NewerJobs };

const USER_AGENT = `webhook-delivery-service/${VERSION}`;

// A fan-out mostly waits for Redis; more of them at once would only make each one slower.
const FAN_OUT_CONCURRENCY = 32;
const REPLAY_CONCURRENCY = 8;
const ERASURE_CONCURRENCY = 2;
// So a dead worker's deliveries are taken over a quarter of the lock's time after it is over, at most.
const STALLED_CHECKS_PER_LOCK = 4;

/** Builds what takes jobs, over connections that stand, and what works for it on the side. Nothing is started. */
export function composeConsumers(context: ConsumersContext) {
  const stores = openStores(context);
  const newerJobs = new NewerJobs({ ...context, connection: context.queues, readableVersion: JOB_VERSION });
  const deps: Deps = { ...context, ...stores, newerJobs };
  const archive = composeArchive(context.config, context);
  const { registry, recorders, openQueues } = deps;
  registerPromAccountQuota(registry, deps.quota.standings);
  const fanOut = composeFanOut(deps);
  const { deliveries, transport, releasers } = composeDeliveries(deps, archive !== undefined);
  const slow = [composeReplays(deps), composeErasures(deps)];
  return {
    consumers: [fanOut, deliveries, ...slow, ...(archive ? [archive.archiver] : [])],
    // Those whose jobs are short: nothing done for long, although some wait, is a fault.
    watched: [
      { queue: EVENTS_QUEUE, steps: fanOut.steps },
      { queue: DELIVERIES_QUEUE, steps: deliveries.steps },
    ] as const,
    // These let go what consumers take, or bring it to where they take it from.
    releasers: [...releasers, newerJobs],
    archiveParts: archive?.parts ?? [],
    recorders,
    transport,
    openQueues,
  };
}

/** How jobs are taken. */
function consumerOf({ config, queues, newerJobs, emit }: Deps) {
  const lockDurationMs = config.JOB_LOCK_DURATION;
  const stalledCheckMs = Math.ceil(lockDurationMs / STALLED_CHECKS_PER_LOCK);
  return { ...queues, newerJobs, lockDurationMs, stalledCheckMs, emit };
}

/** How those are taken that nobody waits for by the second. */
function backgroundOf(deps: Deps) {
  return { ...consumerOf(deps), stalledCheckMs: deps.config.JOB_LOCK_DURATION };
}

function composeFanOut(deps: Deps) {
  const { config, queues, quota, endpointStore, accountStore, clock } = deps;
  return createFanOutConsumer({
    ...deps,
    ...consumerOf(deps),
    concurrency: FAN_OUT_CONCURRENCY,
    readEventJob: createReadEventJob({
      validateEvent: createValidateEvent({ ...deps, maxBytes: config.MAX_EVENT_BYTES }),
      lookUpEndpoints: createLookUpEndpoints(endpointStore),
      requireRoom: (accountId) => quota.requireRoomAsKnown(accountId, 'queue'),
      clock,
    }),
    takesEvents: createTakesEvents(accountStore, steadyClock),
    pushedEvents: new PushedEvents(queues, FAN_OUT_CONCURRENCY),
    fanOutEvent: createFanOutEvent({ ...deps, inOrder: createInOrder(queues.redis) }),
  });
}

/** What delivers, and what releases or brings back what it is to deliver. */
function composeDeliveries(deps: Deps, hasArchive: boolean) {
  const { config, queues, registry, operationalEvents } = deps;
  const archiveStream = hasArchive ? createRedisArchiveStream(queues.redis) : undefined;
  if (archiveStream) registerPromArchiveBacklog(registry, archiveStream);
  const transport = composeTransport(deps);
  let deliveries: DeliverConsumer | undefined;
  const admission = composeAdmission(config, {
    ...deps,
    onCapacity: (capacity) => deliveries?.setCapacity(capacity),
    random: Math.random,
  });
  const dueDeliveries = new DueDeliveries({ ...deps, connection: queues });
  const formerDeliveries = new FormerDeliveries({ ...deps, connection: queues });
  deliveries = createDeliverConsumer({
    ...consumerOf(deps),
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
        tellsTrace: config.TRACEPARENT_TO_RECEIVERS,
      },
      random: Math.random,
    }),
    formerDeliveries,
    dueDeliveries,
    stopDeadlineMs: config.SHUTDOWN_TIMEOUT,
    concurrency: config.WORKER_CONCURRENCY,
  });
  return { deliveries, transport, releasers: [admission.releaser, dueDeliveries, formerDeliveries] };
}

function composeReplays(deps: Deps) {
  return createReplayConsumer({
    ...backgroundOf(deps),
    concurrency: REPLAY_CONCURRENCY,
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
    concurrency: ERASURE_CONCURRENCY,
    stepErasure: createStepErasure({
      ...deps,
      removeEndpoints: createRedisRemoveEndpoints(deps.queues.redis),
      deliveryJobs: deps.deliveryQueue,
      retentionMs: deps.config.RETENTION,
    }),
  });
}
