import type { EndpointId } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import { keys } from '../../domain/keys';
import { chunksOf } from '../../platform/batches';
import type { RedisClient } from '../../platform/redis-connect';
import type { Step } from '../../platform/redis-lua';
import { FormerOrder } from '../former-order/redis-former-order';
import { findFirstBefore, joinOrder, leaveOrder, lookBesideLanes } from './redis-beside-lanes.script';

/** The place of a delivery that has a job of its own. */
export interface BesidePlace {
  readonly eventId: EventId;
  /** Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** Of its group. Absent: it is one of the whole endpoint. */
  readonly line?: string | undefined;
  /** Whether it was accepted just now: then it goes behind all others. */
  readonly isNew?: boolean | undefined;
}

const REMOVED_AT_ONCE = 500;

/**
 * Deliveries in order that have jobs of their own beside their lane. The lane waits for those that are before its head. They are:
 *
 * - dead letters, until they are retried or dropped;
 * - those of an endpoint that is disabled and discards what comes due: they must not wait behind others. When it is enabled, each
 *   becomes an entry of its lane;
 * - those that were held when their endpoint got its order;
 * - all of an order with `RECORD_FORM=former`, and those that it has left behind.
 */
export class BesideLanes {
  constructor(private readonly redis: RedisClient) {}

  /** Those that have a place keep it. */
  join(endpointId: EndpointId, places: readonly BesidePlace[]): Step<void> {
    if (places.length === 0) return async () => {};
    return joinOrder({
      endpoint: endpointId,
      events: places.map(({ eventId }) => eventId),
      acceptedAt: places.map(({ acceptedAt }) => acceptedAt),
      laneOfEach: places.map(({ line }) => suffixOf(line)),
      areNew: places.map(({ isNew = false }) => isNew),
    });
  }

  /**
   * A delivery makes room for the next one.
   *
   * @returns whether it had a place.
   */
  leave(endpointId: EndpointId, eventId: EventId): Step<boolean> {
    return leaveOrder({ endpoint: endpointId, event: eventId });
  }

  /** @param line absent: of the whole endpoint. */
  async first(endpointId: EndpointId, line?: string): Promise<BesidePlace | undefined> {
    return (await this.list(endpointId, line, 0, 1))[0];
  }

  /** The place of one. `undefined`: it has none. @param line absent: of the whole endpoint */
  async placeOf(
    endpointId: EndpointId,
    line: string | undefined,
    eventId: EventId,
  ): Promise<number | undefined> {
    const place = await this.redis.zscore(keys.order(endpointId) + suffixOf(line), eventId);
    return place === null ? undefined : Number(place);
  }

  /** Some in their order, from a position in it. */
  async list(
    endpointId: EndpointId,
    line: string | undefined,
    from: number,
    most: number,
  ): Promise<readonly BesidePlace[]> {
    const order = keys.order(endpointId) + suffixOf(line);
    const flat = await this.redis.zrange(order, String(from), String(from + most - 1), 'WITHSCORES');
    return flat.flatMap((eventId, i) =>
      i % 2 === 0 ? [{ eventId: eventId as EventId, acceptedAt: Number(flat[i + 1]) }] : [],
    );
  }

  /** The delivery that goes before this one. `undefined`: none does. */
  async findFirstBefore(endpointId: EndpointId, eventId: EventId): Promise<EventId | undefined> {
    return await findFirstBefore({ endpoint: endpointId, event: eventId })(this.redis);
  }

  /**
   * Those that lanes may wait for, which should have jobs: of the groups some, each time the next ones, and seldom.
   */
  async look(endpointId: EndpointId): Promise<readonly EventId[]> {
    return await lookBesideLanes({ endpoint: endpointId })(this.redis);
  }

  /** The next look is at once: more may have ended, or lost their jobs, as what was found has. */
  async lookSoon(endpointId: EndpointId): Promise<void> {
    await this.redis.hdel(keys.lanesLook(endpointId), 'at');
  }

  /** Forget all places: another order is in force now, or the endpoint is deleted. */
  async clear(endpointId: EndpointId): Promise<void> {
    const lanes = [...new Set(await this.redis.hvals(keys.lanes(endpointId)))];
    const ofLanes = lanes.map((lane) => keys.order(endpointId) + lane);
    const whole = [keys.order, keys.lanes, keys.lanesLook].map((keyOf) => keyOf(endpointId));
    const gone = [...ofLanes, ...whole, ...FormerOrder.keysOf(endpointId, lanes)];
    for (const some of chunksOf(gone, REMOVED_AT_ONCE)) await this.redis.unlink(...some);
  }
}

function suffixOf(line: string | undefined): string {
  return line === undefined ? '' : `:${line}`;
}
