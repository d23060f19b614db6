import { Cluster } from 'ioredis';
import type { AccountId } from '../domain/account';
import type { DeliveryTexts, MemberEnd } from '../domain/delivery';
import type { EndpointAddress } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { DELIVERIES_QUEUE, type QueueShard } from '../domain/queues';
import { type Clock, steadyClock, systemClock } from '../platform/clock';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
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
}

/** A delivery of a lane that goes together with others, with its place there. */
export interface PlacedMember extends BatchMember {
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

/** As scripts give what the attempts of a batch's deliveries need. */
interface ReadMembers {
  readonly events: readonly string[];
  readonly logs: readonly (string | undefined)[];
  readonly texts: readonly (string | undefined)[];
  readonly requests: readonly (string | undefined)[];
  readonly breaker?: string | undefined;
  readonly endpointText?: string | undefined;
}

/** @param readAt absent: their texts were not read. */
export function membersOf(
  { events, logs, texts, requests, breaker, endpointText }: ReadMembers,
  readAt: number | undefined,
): readonly BatchMember[] {
  return events.map((eventId, i) => ({
    eventId: eventId as EventId,
    request: requests[i] ?? undefined,
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
  ): Step<{ readonly jobId: string; readonly members: readonly PlacedMember[] } | undefined> {
    const readAt = steadyClock();
    const { wasHeld, token } = lane;
    const step = formBatch({
      ...this.#of(lane),
      ...bounds,
      token,
      wasHeld,
      now: this.clock(),
      lockMs: this.lockDurationMs,
      readsTexts: this.#readsTexts,
    });
    return mapReply(step, ({ job: jobId, places, ...read }) => {
      if (jobId === undefined) return undefined;
      return { jobId, members: placed(membersOf(read, this.#readsTexts ? readAt : undefined), places) };
    });
  }

  /** In an order: give the first deliveries of a lane, which stay there. The turn of the first one has begun then. */
  beginHeads(lane: OwnedLane, bounds: BatchBounds): Step<readonly PlacedMember[]> {
    const readAt = steadyClock();
    const { accountId: account, token, lane: name } = lane;
    const step = beginHeads({
      base: this.#base,
      token,
      account,
      name,
      ...bounds,
      readsTexts: this.#readsTexts,
    });
    return mapReply(step, ({ places, ...read }) =>
      placed(membersOf(read, this.#readsTexts ? readAt : undefined), places),
    );
  }

  /**
   * In an order: these are about to go in one request. They go together until they have ended.
   *
   * @param read the first ones of the lane as they were read, these among them.
   * @returns `false`: others have come between them since, and nothing is noted.
   */
  keepTogether(
    { token, lane: name }: OwnedLane,
    events: readonly EventId[],
    read: readonly EventId[],
  ): Step<boolean> {
    return keepHeadsTogether({ base: this.#base, token, name, events, read });
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
    const { token, lane: name } = lane;
    const dueAt = this.clock() + delay;
    return endHeads({ ...this.#of(lane), name, token, ended, left: events, dueAt, delay, failure });
  }

  /** Let go of a batch's job. @param ends of all its deliveries. */
  end(batch: OwnedBatch, ends: readonly MemberEnd[]): Guard<boolean> {
    const groups = groupsOf(ends);
    const now = this.clock();
    return endBatch({
      ...this.#of(batch),
      job: batch.jobId,
      token: batch.token,
      events: groups.flatMap(({ events }) => events),
      groups: groups.map(({ end, events }) => ({ ...becomes(end, now), count: events.length })),
    });
  }

  /** After a lane was put off until more are in it: it goes on if they are there by now. */
  wakeIfFull(lane: Omit<OwnedLane, 'token' | 'wasHeld'>): Step<void> {
    return wakeFullLane({ ...this.#of(lane), name: lane.lane });
  }

  #of({ accountId: account, endpointId: endpoint }: { readonly accountId: AccountId } & EndpointAddress) {
    return { base: this.#base, account, endpoint };
  }
}

function placed(members: readonly BatchMember[], places: readonly number[]): readonly PlacedMember[] {
  return members.map((member, i) => ({ ...member, place: places[i] ?? 0 }));
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
