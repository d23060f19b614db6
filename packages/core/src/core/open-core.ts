import { Deliveries } from '../history/deliveries';
import { Exports } from '../history/exports';
import { Metrics } from '../history/metrics';
import { RecentAttempts } from '../history/recent-attempts';
import type { Stoppable } from '../platform/timers';
import { DeadLetterStore } from '../queue/bullmq-dead-letter-store';
import { ErasureQueue, ReplayQueue } from '../queue/bullmq-work-queues';
import { DeadLetters } from '../replays/dead-letters';
import { openStores, recordersOf, type StoreParts } from './open-stores';

export type CoreParts = StoreParts;

/** What the service does, by subject: routes, commands and consumers call these. */
export type Core = ReturnType<typeof openCore>;

/**
 * Open all modules over an open connection. Nothing is started.
 *
 * @returns beside them, `stores` for what is opened over the same stores; `recorders`, which still write when a process stops,
 *   and need `connections` until then. Both are in the order in which they must stop.
 */
export function openCore(parts: CoreParts) {
  const { redis, shards, atomic, clock, emit, heavyTurns } = parts;
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
  return {
    stores: all,
    recorders: recordersOf(stores),
    connections,
    deadLetters: new DeadLetters(all),
    deliveries: new Deliveries(all),
    exports: new Exports(all),
    metrics: new Metrics({ ...all, recentAttempts: new RecentAttempts({ ...all, heavyTurns }) }),
  };
}
