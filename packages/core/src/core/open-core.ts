import { setTimeout as wait } from 'node:timers/promises';
import { Accounts } from '../accounts/accounts';
import { OverList } from '../events/redis-over-list';
import { Erasure } from '../operations/erasure';
import { Operations } from '../operations/operations';
import { Queues } from '../operations/queues';
import { DayStore } from '../operations/redis-day-store';
import { WorkerReports } from '../operations/redis-worker-reports';
import { RefusedRecords } from '../operations/refused-records';
import type { Stoppable } from '../platform/timers';
import { AccountJobs } from '../queue/bullmq-account-jobs';
import { DeadLetterStore } from '../queue/bullmq-dead-letter-store';
import { PausedQueues } from '../queue/bullmq-paused-queues';
import { ErasureQueue, ReplayQueue } from '../queue/bullmq-work-queues';
import { DeadLetters } from '../replays/dead-letters';
import { Redelivery } from '../replays/redelivery';
import { Replays } from '../replays/replays';
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
  const { redis, shards, atomic, clock, emit } = parts;
  const stores = openStores(parts);
  const deadLetterStore = new DeadLetterStore(redis, shards, clock);
  const replayQueue = new ReplayQueue(redis, shards);
  const erasureQueue = new ErasureQueue(redis, shards);
  const accountJobs = new AccountJobs(redis, shards);
  const all = {
    ...stores,
    deadLetterStore,
    replayQueue,
    erasureQueue,
    accountJobs,
    redis,
    atomic,
    clock,
    emit,
  };
  const workerReports = new WorkerReports(redis, atomic);
  const redelivery = new Redelivery(all);
  const replays = new Replays({ ...all, redelivery });
  const { eventQueue, deliveryQueue, standings } = stores;
  const queues = [
    eventQueue,
    deliveryQueue,
    replayQueue,
    erasureQueue,
    deadLetterStore,
    accountJobs,
    standings,
  ];
  const connections: readonly Stoppable[] = [
    { name: 'queues', stop: async () => void (await Promise.all(queues.map((queue) => queue.close()))) },
    { name: 'history database', stop: async () => await stores.movedHistory?.historyDatabase.close() },
  ];
  return {
    stores: { ...all, workerReports },
    recorders: recordersOf(stores),
    connections,
    accounts: new Accounts(all),
    deadLetters: new DeadLetters({ ...all, replays }),
    erasure: new Erasure({ ...all, wait }),
    operations: new Operations({ ...all, workerReports, dayStore: new DayStore(redis, atomic) }),
    queues: new Queues({ ...all, pausedQueues: new PausedQueues(redis, shards) }),
    redelivery,
    refusedRecords: new RefusedRecords({ overList: new OverList(redis), clock }),
    replays,
  };
}
