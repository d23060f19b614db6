import { Cluster } from 'ioredis';
import type { DeliveryTexts, MemberEnd } from '../domain/delivery';
import type { EndpointAddress } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { DELIVERIES_QUEUE, type QueueShard } from '../domain/queues';
import { type Clock, steadyClock, systemClock } from '../platform/clock';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
import type { BatchMembers } from './bullmq-batches.script';
import { createJobKeys } from './bullmq-layout';
import {
  beginHeads,
  type EndBatchInput,
  endBatch,
  endHeads,
  formBatch,
  keepHeadsTogether,
  wakeFullLane,
} from './bullmq-running-batches.script';
import type { OwnedLane } from './bullmq-running-lanes';

/** A delivery of a batch, as a worker gets it. */
export interface BatchMember {
  readonly eventId: EventId;
  /** The request for which it is to be sent, as it is stored. */
  readonly request: string | undefined;
  /** Absent in a Cluster, where they are on other nodes. */
  readonly texts: DeliveryTexts | undefined;
  /** In the lane that it comes from. 0: it was in a batch before. */
  readonly place: number;
}

/** A batch whose job a worker has. */
export interface OwnedBatch extends EndpointAddress {
  readonly jobId: string;
  /** What its job is locked with. */
  readonly token: string;
}

/** How much goes in one request. */
export interface BatchBounds {
  readonly most: number;
  /** This delivery alone, whatever it went with. */
  readonly only?: EventId | undefined;
  /** Of the texts of the events. */
  readonly maxBytes: number;
}

/** @param readAt absent: their texts were not read. */
export function membersOf(
  { events, logs, texts, requests, places, breaker, endpointText }: BatchMembers,
  readAt: number | undefined,
): readonly BatchMember[] {
  return events.map((eventId, i) => ({
    eventId,
    request: requests[i] ?? undefined,
    place: places[i] ?? 0,
    texts:
      readAt === undefined
        ? undefined
        : {
            log: logs[i] ?? null,
            breaker: breaker ?? null,
            endpoint: endpointText ?? null,
            event: texts[i] ?? null,
            readAt,
          },
  }));
}

/** The batches of a shard as their workers change them: each step does nothing if the job is not the worker's any more. */
export class RunningBatches {
  readonly #base: string;
  readonly #readsTexts: boolean;

  constructor(
    redis: RedisClient,
    { prefix }: QueueShard,
    private readonly lockDurationMs: number,
    private readonly clock: Clock = systemClock,
  ) {
    this.#base = createJobKeys(prefix, DELIVERIES_QUEUE).base;
    this.#readsTexts = !(redis instanceof Cluster);
  }

  /**
   * Make the first deliveries of a lane a batch. Its job is locked in place of the lane's, with the same token; the lane goes on.
   * Gives `undefined` if the lane is not the worker's any more.
   */
  form(
    lane: OwnedLane,
    bounds: BatchBounds,
  ): Step<{ readonly jobId: string; readonly members: readonly BatchMember[] } | undefined> {
    const readAt = this.#readsTexts ? steadyClock() : undefined;
    const step = formBatch({
      ...this.#of(lane),
      ...bounds,
      endpoint: lane.endpointId,
      wasHeld: lane.wasHeld,
      now: this.clock(),
      lockMs: this.lockDurationMs,
      readsTexts: this.#readsTexts,
    });
    return mapReply(step, ({ job: jobId, members }) => {
      return jobId === undefined || members === undefined
        ? undefined
        : { jobId, members: membersOf(members, readAt) };
    });
  }

  /** In an order: give the first deliveries of a lane, which stay there. The turn of the first one has begun then. */
  beginHeads(lane: OwnedLane, bounds: BatchBounds): Step<readonly BatchMember[]> {
    const readAt = this.#readsTexts ? steadyClock() : undefined;
    const step = beginHeads({
      ...this.#of(lane),
      ...bounds,
      readsTexts: this.#readsTexts,
    });
    return mapReply(step, ({ members }) => (members ? membersOf(members, readAt) : []));
  }

  /**
   * In an order: these are about to go in one request. They go together until they have ended.
   *
   * @param read the first ones of the lane as they were read, these among them.
   * @returns `false`: others have come between them since, and nothing is noted.
   */
  keepTogether(lane: OwnedLane, events: readonly EventId[], read: readonly EventId[]): Step<boolean> {
    return keepHeadsTogether({ ...this.#of(lane), events, read });
  }

  /** @param left those that did not end, in order, and when they are due. */
  endHeads(
    lane: OwnedLane,
    ended: readonly EventId[],
    left: {
      readonly events: readonly EventId[];
      readonly delayMs: number;
      readonly failure?: string | undefined;
    },
  ): Guard<boolean> {
    const { events, delayMs: delay, failure } = left;
    return endHeads({ ...this.#of(lane), ended, left: events, dueAt: this.clock() + delay, delay, failure });
  }

  /** Let go of a batch's job. @param ends of all its deliveries. */
  end(batch: OwnedBatch, ends: readonly MemberEnd[]): Guard<boolean> {
    const groups = groupsOf(ends);
    const now = this.clock();
    return endBatch({
      base: this.#base,
      account: batch.accountId,
      endpoint: batch.endpointId,
      job: batch.jobId,
      token: batch.token,
      events: groups.flatMap(({ events }) => events),
      groups: groups.map(({ end, events }) => ({ ...becomes(end, now), count: events.length })),
    });
  }

  /** After a lane was put off until more are in it: it goes on if they are there by now. */
  wakeIfFull(lane: Pick<OwnedLane, 'accountId' | 'lane'>): Step<void> {
    return wakeFullLane({ base: this.#base, account: lane.accountId, name: lane.lane });
  }

  #of({ accountId: account, lane: name, token }: OwnedLane) {
    return { base: this.#base, account, name, token };
  }
}

interface Group {
  readonly end: MemberEnd['end'];
  readonly events: EventId[];
}

function groupsOf(ends: readonly MemberEnd[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const { eventId, end, isInSecond } of ends) {
    const name = JSON.stringify([end, isInSecond]);
    const known = groups.get(name);
    if (known) known.events.push(eventId);
    else groups.set(name, { end, events: [eventId] });
  }
  return [...groups.values()];
}

function becomes(end: MemberEnd['end'], now: number): Omit<EndBatchInput['groups'][number], 'count'> {
  const none = { dueAt: 0, delay: 0, failure: undefined };
  switch (end.kind) {
    case 'done':
      return { becomes: 'ended', ...none };
    case 'alone':
      return { becomes: 'jobs', ...none, failure: end.failure };
    case 'delayed':
      return { becomes: 'batch', dueAt: now + end.delayMs, delay: end.delayMs, failure: end.failure };
  }
}
