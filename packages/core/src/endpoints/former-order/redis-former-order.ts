import { type Endpoint, type EndpointId, lineOf } from '../../domain/endpoint';
import type { AcceptedEvent, EventId } from '../../domain/event';
import { keys } from '../../domain/keys';
import { type Atomic, mapReply, together } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import type { Guard } from '../../platform/redis-lua';
import type { OldestEvents } from '../../queue/bullmq-oldest-events';
import {
  beginTurn,
  type LookForTurnReply,
  lookForTurn,
  markReady,
  nextInGroups,
  nextInOrder,
} from './redis-former-order.script';

type OrderedEvent = Pick<AcceptedEvent, 'accountId' | 'id' | 'acceptedAt'> & {
  readonly group?: string | undefined;
};

/** Why it is not a delivery's turn. */
export type NotInTurn =
  | {
      readonly kind: 'ordering';
      /** Whether the one that goes before it may go now. */
      readonly isSoon: boolean;
    }
  /** It is the first one, but an older event is still to be fanned out. */
  | { readonly kind: 'first' }
  /** A newer one of its group is sent in place of it. */
  | { readonly kind: 'superseded'; readonly by: EventId }
  /** In the window of its group: a newer one may come until then. Milliseconds since the Unix epoch. */
  | { readonly kind: 'coalescing'; readonly until: number };

/** Which held deliveries may go. `only` absent: those that are held longest, as no state is known of any. */
export interface FormerAllowance {
  readonly most: number;
  readonly only?: readonly EventId[];
  /** When to look again, if that is before the usual time. */
  readonly againInMs?: number;
}

// Fan-outs take milliseconds. An interrupted one is put back for a second, one whose worker died for longer.
const OLDER_EVENT_MS = 100;
// The first one may have ended in between.
const LOOK_AGAIN_MS = 10;
// Released deliveries may not have begun yet.
const LOOKED_AT_BESIDE = 200;

/**
 * The order of the versions that knew no lanes, in which each delivery has a job and takes turns with the others. With
 * `RECORD_FORM=former` it is in force, as processes of the version before may run. `docs/inside/queue.md` says when it can go.
 */
export class FormerOrder {
  constructor(
    private readonly redis: RedisClient,
    private readonly atomic: Atomic,
  ) {}

  /** What it has of an endpoint. @param lanes of groups, as they are stored. */
  static keysOf(endpointId: EndpointId, lanes: readonly string[]): readonly string[] {
    const whole = [keys.turn, keys.ready, keys.coalescing, keys.orderWaiting];
    return [...whole.map((keyOf) => keyOf(endpointId)), ...lanes.map((lane) => keys.turn(endpointId) + lane)];
  }

  /**
   * Admits a delivery if it is its turn, which it has from then on.
   *
   * @param admit stops if the endpoint's limits allow no attempt now.
   */
  async admit<Answer>(
    endpoint: Endpoint,
    event: OrderedEvent,
    oldestEvents: OldestEvents,
    admit: Guard<Answer>,
  ): Promise<Answer | NotInTurn> {
    const line = lineOf(endpoint, event.group);
    if (endpoint.ordering === 'group' && line === undefined) return (await this.atomic([admit]))[0];
    const lane = line === undefined ? '' : `:${line}`;
    const windowMs = (line !== undefined && endpoint.coalesce?.window_ms) || 0;
    const asked = { endpoint: endpoint.id, lane, event: event.id, windowMs };
    const look = mapReply(lookForTurn({ ...asked, acceptedAt: event.acceptedAt }), (turn) => turn);
    const [turn] = await this.atomic([look]);
    const first = toNotInTurn(turn);
    if (first) return first;
    const guards = turn.kind === 'first' ? oldestEvents.guardsOldest(event) : [];
    // Where one script looks and begins, nothing comes between.
    const [, again, answer] = await this.atomic([together(guards), look, admit, beginTurn(asked)]);
    return answer ?? (again && toNotInTurn(again)) ?? { kind: 'first' };
  }

  /** Deliveries are held. Those that no other one of their group goes before may go as soon as any may. */
  async markReady(
    { id, ordering }: Endpoint,
    held: readonly { readonly eventId: EventId; readonly acceptedAt: number }[],
  ): Promise<void> {
    if (ordering !== 'group') return;
    const mark = held.map(({ eventId: event, acceptedAt }) => markReady({ endpoint: id, event, acceptedAt }));
    await Promise.all(mark.map((step) => step(this.redis)));
  }

  /** Which held deliveries may go. @param most as many as the endpoint's limits allow. */
  async allow(
    { accountId, id, ordering }: Endpoint,
    most: number,
    oldestEvents: OldestEvents,
  ): Promise<FormerAllowance> {
    if (ordering === 'group') {
      const only = await nextInGroups({ endpoint: id, most: most + LOOKED_AT_BESIDE })(this.redis);
      return only.length === 0 ? { most } : { most, only };
    }
    const { next, acceptedAt, hasBegun, wasEndAwaited } = await nextInOrder({ endpoint: id })(this.redis);
    // Deliveries held before there was an order join it when they are checked again.
    if (next === undefined) return { most: 1 };
    const isOvertaking = !hasBegun && (await oldestEvents.hasOlder({ accountId, id: next, acceptedAt }));
    if (isOvertaking) return { most: 0, againInMs: OLDER_EVENT_MS };
    return { most: 1, only: [next], ...(!wasEndAwaited && { againInMs: LOOK_AGAIN_MS }) };
  }

  /** Other windows are in force now. */
  async forgetWindows(endpointId: EndpointId): Promise<void> {
    await this.redis.unlink(keys.coalescing(endpointId));
  }
}

function toNotInTurn({ kind, waitUntil, isSoon, by }: LookForTurnReply): NotInTurn | undefined {
  switch (kind) {
    case 'ordering':
      return { kind, isSoon };
    case 'superseded':
      return { kind, by: by as EventId };
    case 'coalescing':
      return { kind, until: waitUntil };
    case 'first':
    case 'has_begun':
      return undefined;
  }
}
