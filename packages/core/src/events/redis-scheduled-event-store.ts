import type { AccountId } from '../domain/account';
import { type EndpointId, endpointIdSchema } from '../domain/endpoint';
import { type AcceptedEvent, type EventId, publishedAtOf, type StoredEvent } from '../domain/event';
import type { RecordForm } from '../domain/record-form';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import { decodeStored, encodeEvent } from './event-text';
import { storedMsOf } from './redis-event-index';
import {
  beginScheduled,
  cancelScheduled,
  moveScheduled,
  saveScheduled,
  seeScheduled,
} from './redis-scheduled-event-store.script';

/**
 * What an id stands for:
 * - `waiting`: an event that is not due yet.
 * - `due`: one that is sent, or was; one that was published to be sent at once as well.
 * - `cancelled`: one that was cancelled before it was due.
 * - `gone`: none.
 */
export type ScheduledState = 'waiting' | 'due' | 'cancelled' | 'gone';

/** An event that is about to be changed. */
export interface SeenScheduled {
  readonly state: ScheduledState;
  /** When it is due, or was. Milliseconds since the Unix epoch. 0: there is none. */
  readonly deliverAt: number;
  /** Of its body. */
  readonly bytes: number;
  /** The name of the idempotent response that tells of it. */
  readonly answer: string | undefined;
}

/** The decision about a scheduled event that is due. */
export type Begun =
  | { readonly state: 'due' | 'cancelled'; readonly event: StoredEvent; readonly isFirst: boolean }
  /** It was moved meanwhile. */
  | { readonly state: 'waiting'; readonly deliverAt: number }
  | { readonly state: 'gone' };

/**
 * The records of events that were published to be sent later. Whether such an event waits, is due or was
 * cancelled is decided here, in one step for each event: queues may bring it up more than once, or too early.
 */
export class ScheduledEventStore {
  /** @param form in which new events are written. */
  constructor(
    private readonly redis: RedisClient,
    private readonly retention: { readonly ageMs: number },
    private readonly form: RecordForm = 'current',
  ) {}

  /**
   * Store an event that waits, with its body, until RETENTION after it is due. It keeps the later steps from running when there
   * is an event of this id. Gives whether there was none.
   *
   * @param answer the name of the idempotent response that tells of it.
   */
  save(event: AcceptedEvent, answer?: string): Guard<boolean> {
    const { accountId, id, acceptedAt, endpointIds = [] } = event;
    const waitMs = Math.max(acceptedAt - publishedAtOf(event), 0);
    return saveScheduled({
      account: accountId,
      event: id,
      keptMs: waitMs + storedMsOf(this.retention),
      text: encodeEvent(event, this.form),
      answer: answer || undefined,
      endpoints: endpointIds.join(' ') || undefined,
    });
  }

  async see(accountId: AccountId, id: EventId): Promise<SeenScheduled> {
    const seen = await seeScheduled({ account: accountId, event: id })(this.redis);
    const { state, deliverAt, bytes, answer } = seen;
    return { state, deliverAt, bytes, answer: answer === '' ? undefined : answer };
  }

  /** Set another time. It keeps the later steps from running when the event does not wait any more. */
  move(accountId: AccountId, id: EventId, deliverAt: number): Guard<boolean> {
    return moveScheduled({ account: accountId, event: id, deliverAt, keptMs: storedMsOf(this.retention) });
  }

  /** The same, but it is not sent at all. @param cancelledAt its place in lists. */
  cancel(accountId: AccountId, id: EventId, cancelledAt: number): Guard<boolean> {
    return cancelScheduled({
      account: accountId,
      event: id,
      cancelledAt,
      keptMs: storedMsOf(this.retention),
    });
  }

  /**
   * From here on it can't be moved or cancelled. Repeating it gives the same.
   *
   * @param dueAt the time at which its queue brought it up.
   */
  async begin(accountId: AccountId, id: EventId, dueAt: number): Promise<Begun> {
    const begun = await beginScheduled({ account: accountId, event: id, dueAt })(this.redis);
    const { state, deliverAt, text, endpoints, isFirst } = begun;
    switch (state) {
      case 'gone':
        return { state };
      case 'waiting':
        return { state, deliverAt };
      case 'due':
      case 'cancelled':
        return { state, event: aim(decodeStored(accountId, id, text), endpoints), isFirst };
    }
  }
}

function aim(event: StoredEvent, to: string): StoredEvent {
  if (to === '') return event;
  const endpointIds: readonly EndpointId[] = to.split(' ').map((text) => endpointIdSchema.parse(text));
  return { ...event, endpointIds };
}
