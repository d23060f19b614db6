import type { Subscriptions } from '../endpoints/subscriptions';
import type { Clock } from '../kernel/clock';
import { createLru } from '../kernel/lru';
import { settledWithin } from '../kernel/within';
import type { AccountId, EventId } from '../model/event';
import type { Emit } from '../model/signal';
import type { EventQueue } from './accept-events';
import { type OperationalEvent, operationalEventId } from './operational-event';

export interface OperationalEventsOptions {
  readonly subscriptions: Pick<Subscriptions, 'current'>;
  readonly eventQueue: Pick<EventQueue, 'add'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** How an account is told. */
export type RaiseEvents = (accountId: AccountId, events: readonly OperationalEvent[]) => void;

// Those raised last: an endpoint in trouble raises the same one again and again, and each would cost a fan-out.
const REMEMBERED = 10_000;
const STOP_PATIENCE_MS = 1_000;

/**
 * Tells accounts what happens to their webhooks, by events like any other: on the events queue, to whoever has asked
 * for them. On the side and as well as it can: nobody waits for it, and what goes wrong is a signal.
 */
export class OperationalEvents {
  readonly #underWay = new Set<Promise<void>>();
  readonly #raised = createLru<EventId, true>(REMEMBERED);

  constructor(private readonly options: OperationalEventsOptions) {}

  readonly raise: RaiseEvents = (accountId, events) => {
    for (const event of events) this.#track(this.#raiseOne(accountId, event));
  };

  /** Gives those under way a moment to reach the queue. */
  async stop(): Promise<void> {
    await settledWithin(STOP_PATIENCE_MS, Promise.all(this.#underWay));
  }

  async #raiseOne(accountId: AccountId, event: OperationalEvent): Promise<void> {
    const { subscriptions, eventQueue, clock, emit } = this.options;
    const { type, data } = event;
    const acceptedAt = clock();
    const id = operationalEventId(accountId, event, acceptedAt);
    if (this.#raised.has(id)) return;
    const { subscribers } = (await subscriptions.current(accountId)).askersOf(type);
    if (subscribers.length === 0) return;
    await eventQueue.add({ id, accountId, type, body: JSON.stringify({ type, data }), acceptedAt });
    this.#raised.set(id, true);
    emit({ name: 'operational_event.raised', accountId, eventId: id, type });
  }

  #track(raising: Promise<void>): void {
    const tracked = raising
      .catch((error: unknown) =>
        this.options.emit({ name: 'task.failed', task: 'raise operational event', error }),
      )
      .finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }
}
