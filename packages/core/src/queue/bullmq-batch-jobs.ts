import { Cluster } from 'ioredis';
import {
  type DeliveryId,
  type DeliveryParts,
  type DeliveryTexts,
  deliveryIdOf,
  type WantedBatch,
} from '../domain/delivery';
import { type EndpointAddress, type EndpointId, encodeAddress } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, type QueueShard } from '../domain/queues';
import { type Clock, steadyClock, systemClock } from '../platform/clock';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import {
  type BatchJob,
  dissolveBatch,
  isTakenByAnother,
  keepTogether,
  type TakeBatchJobsReply,
  takeBatchJobs,
} from './bullmq-batch-jobs.script';
import { createJobKeys } from './bullmq-layout';

/** A job that was taken to go together with another one, as far as a worker needs it. */
export interface TakenBatchJob extends DeliveryParts {
  readonly id: DeliveryId;
  /** What it is locked with. */
  readonly token: string;
  readonly attemptsStarted: number;
  readonly stalledCounter: number;
  /** Milliseconds since the Unix epoch. */
  readonly processedOn: number;
  /** As JSON. */
  readonly data: string;
  /** As its field has them. Absent: it was not held. */
  readonly holds: string | undefined;
  /** Absent in a Cluster, where they are on other nodes. */
  readonly texts: DeliveryTexts | undefined;
}

export interface BatchToTake extends WantedBatch {
  /** Whether those that were in no batch are recorded as one, unless one of them is busy. */
  readonly formsBatch: boolean;
}

export interface TakenBatch {
  /** The events that were sent together before, the primary one's included; none: that was in no batch. */
  readonly sentBefore: readonly string[];
  readonly jobs: readonly TakenBatchJob[];
  /** The events of those that run: of those that were sent together before, or else of those that are held. */
  readonly busy: readonly string[];
}

/** The jobs of deliveries that are sent in one request: how a worker takes them, and records that they are a batch. */
export class BatchJobs {
  readonly #keys;
  readonly #queueKeys;
  readonly #readsTexts: boolean;

  constructor(
    redis: RedisClient,
    { prefix }: QueueShard,
    private readonly lockDurationMs: number,
    private readonly clock: Clock = systemClock,
  ) {
    this.#keys = createJobKeys(prefix, DELIVERIES_QUEUE);
    this.#queueKeys = queueKeysOf(prefix);
    this.#readsTexts = !(redis instanceof Cluster);
  }

  /** Take some that can go with the delivery of an event, the primary one, and lock them. */
  take(address: EndpointAddress, primary: EventId, token: string, wanted: BatchToTake): Step<TakenBatch> {
    const { endpointId } = address;
    const { held, heldCounts, countedAsHeld } = this.#queueKeys;
    const readAt = steadyClock();
    const processedOn = this.clock();
    const step = takeBatchJobs({
      jobs: this.#keys,
      held: held(endpointId),
      counts: heldCounts,
      counted: countedAsHeld,
      base: this.#keys.base,
      suffix: suffixOf(endpointId),
      address: encodeAddress(address),
      primary,
      most: wanted.most,
      maxBytes: wanted.maxBytes,
      isInOrder: wanted.isInOrder,
      formsBatch: wanted.formsBatch,
      now: processedOn,
      token,
      lockMs: this.lockDurationMs,
      readsTexts: this.#readsTexts,
    });
    return mapReply(step, (reply) => ({
      sentBefore: reply.sentBefore?.split(' ') ?? [],
      busy: reply.busy,
      jobs: reply.jobs.map((job) => ({
        eventId: job.event,
        endpointId,
        id: deliveryIdOf({ eventId: job.event, endpointId }),
        token,
        attemptsStarted: job.attemptsStarted,
        stalledCounter: job.stalledCount,
        processedOn,
        data: job.data,
        holds: job.holds,
        texts: this.#readsTexts ? textsOf(job, reply, readAt) : undefined,
      })),
    }));
  }

  /** Whether a delivery is in the batch of another one, which is about to take it. */
  isTakenByAnother(endpointId: EndpointId, event: EventId): Step<boolean> {
    return isTakenByAnother({
      jobs: this.#keys,
      base: this.#keys.base,
      suffix: suffixOf(endpointId),
      event,
      now: this.clock(),
    });
  }

  /** Record in the jobs that they are a batch. @param events the primary one's first. */
  keepTogether(endpointId: EndpointId, events: readonly EventId[]): Step {
    const suffix = suffixOf(endpointId);
    const { base, job } = this.#keys;
    return keepTogether({ job: job((events[0] ?? '') + suffix), base, suffix, events });
  }

  /** Those of a delivery's batch need not go together any more. */
  dissolve(endpointId: EndpointId, primary: EventId): Step {
    return dissolveBatch({ job: this.#keys.job(primary + suffixOf(endpointId)) });
  }
}

function textsOf(
  { log, eventText }: BatchJob,
  { breaker, endpointText }: TakeBatchJobsReply,
  readAt: number,
): DeliveryTexts {
  return {
    log: log ?? null,
    breaker: breaker ?? null,
    endpoint: endpointText ?? null,
    event: eventText ?? null,
    readAt,
  };
}

function suffixOf(endpointId: EndpointId): string {
  return deliveryIdOf({ eventId: '' as EventId, endpointId });
}
