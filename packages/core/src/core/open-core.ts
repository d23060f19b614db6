import type { BeginSpan } from '../domain/trace';
import { Turns } from '../platform/batches';
import type { Stoppable } from '../platform/timers';
import { Publishing } from '../publish/publishing';
import { FanOuts, type PublishingParts } from '../publish/publishing-parts';
import { ScheduledEvents } from '../publish/scheduled-events';
import { DeadLetterStore } from '../queue/bullmq-dead-letter-store';
import { ErasureQueue, ReplayQueue } from '../queue/bullmq-work-queues';
import { DeadLetters } from '../replays/dead-letters';
import { openStores, recordersOf, type StoreParts } from './open-stores';

export interface CoreParts extends StoreParts {
  /** The most bytes of an event's body in UTF-8. Absent: this process takes no events. */
  readonly maxEventBytes?: number;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
}

/** What the service does, by subject: routes, commands and consumers call these. */
export type Core = ReturnType<typeof openCore>;

/**
 * Open all modules over an open connection. Nothing is started.
 *
 * @returns beside them, `stores` for what is opened over the same stores; `recorders`, which still write when a process stops,
 *   and need `connections` until then. Both are in the order in which they must stop.
 */
export function openCore(parts: CoreParts) {
  const { redis, shards, atomic, clock, emit } = parts;
  const stores = openStores(parts);
  const deadLetterStore = new DeadLetterStore(redis, shards, clock);
  const replayQueue = new ReplayQueue(redis, shards);
  const erasureQueue = new ErasureQueue(redis, shards);
  const all = { ...stores, deadLetterStore, replayQueue, erasureQueue, atomic, clock, emit };
  const { eventQueue, deliveryQueue, standings } = stores;
  const queues = [eventQueue, deliveryQueue, replayQueue, erasureQueue, deadLetterStore, standings];
  const connections: readonly Stoppable[] = [
    { name: 'queues', stop: async () => void (await Promise.all(queues.map((queue) => queue.close()))) },
    { name: 'history database', stop: async () => await stores.movedHistory?.historyDatabase.close() },
  ];
  const publishingParts: PublishingParts = {
    maxEventBytes: parts.maxEventBytes ?? 0,
    beginSpan: parts.beginSpan,
    routingTurns: new Turns(),
    fanOutTurns: new Turns(),
    fanOuts: new FanOuts(),
    ...all,
  };
  const scheduledEvents = new ScheduledEvents(publishingParts);
  return {
    stores: all,
    recorders: recordersOf(stores),
    connections,
    publishing: new Publishing(publishingParts, scheduledEvents),
    scheduledEvents,
    deadLetters: new DeadLetters(all),
  };
}
