import { setTimeout as wait } from 'node:timers/promises';
import { hasPostgres, NO_POSTGRES } from '@hookferry/core/testing/postgres-server';
import type { FaultScene } from '../fault-scene';
import { CUT_WITHIN_MS } from '../faulty-proxy';
import { isStatement } from '../history/history-database';
import { fillDisk, isOnSmallDisk } from '../redis/small-disk';
import { during, type FaultKind, type Strike } from './fault-kind';
import { awayAndTold } from './history-away';
import { eraseWhileMoving } from './history-erase';
import { loseRight, refuseRows } from './history-refusals';
import { rehydrateThroughKill } from './history-rehydration';

// While events come in, something moves all the time.
const NEXT_BATCH_WITHIN_MS = 5_000;

const kinds: readonly FaultKind[] = [
  {
    name: 'history-away',
    what: 'PostgreSQL is stopped until the backlog is told of, at least 5 s: reads of old things say so; then it is back',
    mayRepeat: false,
    usualCount: 12,
    inject: awayAndTold,
  },
  {
    name: 'history-kill',
    what: 'kill -9 of PostgreSQL in the middle of a batch; started 0.2 to 3 s later',
    mayRepeat: false,
    usualCount: 16,
    inject: killInBatch,
  },
  {
    name: 'history-mover-kill',
    what: 'kill -9 of a worker when PostgreSQL has committed a batch, before it is removed from Redis',
    mayRepeat: true,
    usualCount: 16,
    inject: killMover,
  },
  {
    name: 'history-stall',
    what: 'SIGSTOP of PostgreSQL for 2 to 12 s, then SIGCONT',
    mayRepeat: false,
    usualCount: 12,
    inject: async ({ service: { history }, random }) =>
      await during('PostgreSQL', async () => {
        await history.freeze();
        await wait(random.between(2_000, 12_000));
        await history.thaw();
      }),
  },
  {
    name: 'history-cut',
    what: "each worker's connections to PostgreSQL break in a commit: before it, or before its reply",
    mayRepeat: false,
    usualCount: 20,
    inject: cutInCommit,
  },
  {
    name: 'history-full',
    what: "PostgreSQL's disk is full for four to nine seconds",
    mayRepeat: false,
    usualCount: 8,
    obstacle: async () =>
      (await isOnSmallDisk()) ? undefined : 'a small tmpfs cannot be mounted here: it takes root',
    inject: async ({ service: { history }, random }) =>
      await during('PostgreSQL', async () => {
        const giveBack = await fillDisk(history.folder);
        await wait(random.between(4_000, 9_000));
        await giveBack();
        await history.mend();
      }),
  },
  {
    name: 'history-refused',
    what: 'a constraint that somebody added refuses some rows: kept in Redis with its reason, shown, and all others go on',
    mayRepeat: false,
    usualCount: 8,
    inject: refuseRows,
  },
  {
    name: 'history-right',
    what: "the workers' role loses a right for 2 to 6 s, or may not connect",
    mayRepeat: false,
    usualCount: 10,
    inject: loseRight,
  },
  {
    name: 'history-erase',
    what: 'payloads are erased while their events move: nothing of them is left on either side',
    mayRepeat: false,
    usualCount: 10,
    inject: eraseWhileMoving,
  },
  {
    name: 'history-rehydration',
    what: 'deliveries that have moved are sent again while a worker, an API or PostgreSQL is killed',
    mayRepeat: true,
    usualCount: 12,
    inject: rehydrateThroughKill,
  },
];

/** What befalls the history, and what moves there. Nothing of it may touch a delivery. */
export const historyFaults = kinds.map(
  (kind): FaultKind => ({ ...kind, needsHistory: true, obstacle: obstacleOf(kind) }),
);

/** Whether there can be a history on this machine. */
export function historyObstacle(): string | undefined {
  return hasPostgres ? undefined : NO_POSTGRES;
}

function obstacleOf({ obstacle }: Pick<FaultKind, 'obstacle'>): () => Promise<string | undefined> {
  return async () => historyObstacle() ?? (await obstacle?.());
}

async function killInBatch({ service: { workers, history }, random }: FaultScene): Promise<Strike> {
  const begins = workers.map(({ historyProxy }) =>
    historyProxy.untilSent(isStatement('BEGIN'), NEXT_BATCH_WITHIN_MS),
  );
  await Promise.race(begins);
  // Anywhere within it: a batch takes some milliseconds.
  await wait(random.between(0, 12));
  return await during('PostgreSQL', async () => {
    await history.crash();
    await wait(random.between(200, 3_000));
    await history.mend();
  });
}

async function killMover({ service, random }: FaultScene): Promise<Strike> {
  const victim = random.pick(service.workers);
  await victim.historyProxy.untilReplied(isStatement('COMMIT'), NEXT_BATCH_WITHIN_MS);
  const strike = await during(victim.name, () => victim.end('SIGKILL'));
  await wait(random.between(0, 1_000));
  await victim.start();
  return strike;
}

async function cutInCommit({ service: { workers }, random }: FaultScene): Promise<Strike> {
  return await during('workers', async () => {
    for (const { historyProxy } of workers) {
      historyProxy.cut(() => random.pick(['half-sent', 'before-reply'] as const), isStatement('COMMIT'));
    }
    await wait(CUT_WITHIN_MS);
    for (const { historyProxy } of workers) historyProxy.spareTheRest();
  });
}
