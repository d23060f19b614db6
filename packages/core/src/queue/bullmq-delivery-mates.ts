import { Cluster } from 'ioredis';
import {
  type DeliveryId,
  type DeliveryParts,
  type DeliveryTexts,
  deliveryIdOf,
  type WantedMates,
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
  followsMate,
  type Mate,
  type TakeMatesReply,
  takeMates,
  tieMates,
  untieMates,
} from './bullmq-delivery-mates.script';
import { createJobKeys } from './bullmq-layout';

/** A job that was taken along with another one, as far as a worker needs it. */
export interface TakenMate extends DeliveryParts {
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

export interface MatesToTake extends WantedMates {
  /** Whether those that the first one was not tied to are tied to it, unless one of them is busy. */
  readonly ties: boolean;
}

export interface TakenMates {
  /** Those that the first one was to go with, itself included; none: it was tied to nothing. */
  readonly tied: readonly string[];
  readonly jobs: readonly TakenMate[];
  /** The events of those that run: of the tied ones, or else of those that are held. */
  readonly busy: readonly string[];
}

/** Deliveries of one endpoint that are sent in one request: how a worker takes them, and ties them to each other. */
export class MateJobs {
  readonly #keys;
  readonly #queueKeys;
  readonly #readsAlong: boolean;

  constructor(
    redis: RedisClient,
    { prefix }: QueueShard,
    private readonly lockDurationMs: number,
    private readonly clock: Clock = systemClock,
  ) {
    this.#keys = createJobKeys(prefix, DELIVERIES_QUEUE);
    this.#queueKeys = queueKeysOf(prefix);
    this.#readsAlong = !(redis instanceof Cluster);
  }

  /** Take some that can go with the delivery of an event, and lock them. */
  take(address: EndpointAddress, first: EventId, token: string, wanted: MatesToTake): Step<TakenMates> {
    const { endpointId } = address;
    const { held, heldCounts, countedAsHeld } = this.#queueKeys;
    const readAt = steadyClock();
    const processedOn = this.clock();
    const step = takeMates({
      jobs: this.#keys,
      held: held(endpointId),
      counts: heldCounts,
      counted: countedAsHeld,
      base: this.#keys.base,
      suffix: suffixOf(endpointId),
      address: encodeAddress(address),
      first,
      most: wanted.most,
      maxBytes: wanted.maxBytes,
      isInOrder: wanted.isInOrder,
      ties: wanted.ties,
      now: processedOn,
      token,
      lockMs: this.lockDurationMs,
      readsAlong: this.#readsAlong,
    });
    return mapReply(step, (reply) => ({
      tied: reply.tied?.split(' ') ?? [],
      busy: reply.busy,
      jobs: reply.mates.map((mate) => ({
        eventId: mate.event,
        endpointId,
        id: deliveryIdOf({ eventId: mate.event, endpointId }),
        token,
        attemptsStarted: mate.attemptsStarted,
        stalledCounter: mate.stalledCount,
        processedOn,
        data: mate.data,
        holds: mate.holds,
        texts: this.#readsAlong ? textsOf(mate, reply, readAt) : undefined,
      })),
    }));
  }

  /** Whether a delivery is tied to others, and goes when the first one of them takes it. */
  follows(endpointId: EndpointId, event: EventId): Step<boolean> {
    return followsMate({
      jobs: this.#keys,
      base: this.#keys.base,
      suffix: suffixOf(endpointId),
      event,
      now: this.clock(),
    });
  }

  tie(endpointId: EndpointId, events: readonly EventId[]): Step {
    const suffix = suffixOf(endpointId);
    const { base, job } = this.#keys;
    return tieMates({ job: job((events[0] ?? '') + suffix), base, suffix, events });
  }

  /** Let those that a delivery is the first of go apart. */
  untie(endpointId: EndpointId, first: EventId): Step {
    return untieMates({ job: this.#keys.job(first + suffixOf(endpointId)) });
  }
}

function textsOf(
  { log, eventText }: Mate,
  { breaker, endpointText }: TakeMatesReply,
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
