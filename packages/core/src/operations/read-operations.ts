import type { AccountStore } from '../accounts/redis-account-store';
import type { HoldReason } from '../domain/delivery';
import type { OpenBreakers } from '../endpoints/flow/redis-open-breakers';
import { type Clock, steadyClock } from '../platform/clock';
import { createKeepFor } from '../platform/timers';
import type { AccountWaiting, QueueStanding, QueueStandings } from '../queue/bullmq-queue-standings';
import type { HeldCounts } from '../queue/redis-held-counts';
import type { SeenWorker, WorkerReports } from './redis-worker-reports';

/** How the service stands as a whole. */
export interface Operations {
  readonly queues: readonly QueueStanding[];
  readonly deadLetters: number;
  readonly heldByReason: Readonly<Record<HoldReason, number>>;
  /** What all workers together did in the last seconds. */
  readonly attemptsPerSecond: number;
  readonly workers: readonly SeenWorker[];
  readonly openBreakers: number;
  readonly disabledEndpoints: number;
  readonly busiestAccounts: readonly (AccountWaiting & { readonly weight: number })[];
}

export interface ReadOperationsDeps {
  readonly standings: Pick<QueueStandings, 'read' | 'busiestAccounts'>;
  readonly heldCounts: Pick<HeldCounts, 'read'>;
  readonly workerReports: Pick<WorkerReports, 'list'>;
  readonly openBreakers: Pick<OpenBreakers, 'count'>;
  readonly countDisabled: () => Promise<number>;
  readonly accountStore: Pick<AccountStore, 'find'>;
  readonly clock: Clock;
}

// However many pages show it.
const KEPT_MS = 1_000;
const MOST_ACCOUNTS = 10;

/** Nothing of it costs more when there is more to count: counters, and looks at so many jobs at most. */
export function createReadOperations(deps: ReadOperationsDeps) {
  const { standings, heldCounts, workerReports, openBreakers, countDisabled, accountStore, clock } = deps;

  async function readOperations(): Promise<Operations> {
    const now = clock();
    const [queues, heldByReason, workers, breakers, disabledEndpoints, busiest] = await Promise.all([
      standings.read(now),
      heldCounts.read(),
      workerReports.list(),
      openBreakers.count(now),
      countDisabled(),
      standings.busiestAccounts(MOST_ACCOUNTS),
    ]);
    return {
      ...queues,
      heldByReason,
      attemptsPerSecond: workers.reduce((sum, worker) => sum + worker.attemptsPerSecond, 0),
      workers,
      openBreakers: breakers,
      disabledEndpoints,
      busiestAccounts: await Promise.all(busiest.map(withWeight)),
    };
  }

  async function withWeight(account: AccountWaiting) {
    const { weight = 1 } = (await accountStore.find(account.accountId)) ?? {};
    return { ...account, weight };
  }

  return createKeepFor(KEPT_MS, readOperations, steadyClock);
}

export type ReadOperations = ReturnType<typeof createReadOperations>;
