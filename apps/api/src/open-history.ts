import type { Emit } from '@hookferry/core/domain/signal';
import type { MovedStore } from '@hookferry/core/events/redis-moved';
import type { MovedEvents } from '@hookferry/core/history/count-events';
import type { PgDatabase } from '@hookferry/core/history/database/pg-database';
import { readKnownEvents, readRollups } from '@hookferry/core/history/database/pg-rollups';
import { requireSchema } from '@hookferry/core/history/database/pg-schema';
import type { MovedAttempts } from '@hookferry/core/history/read-metrics';
import { AppError } from '@hookferry/core/platform/app-error';

interface Moved {
  readonly historyDatabase: PgDatabase;
  readonly movedStore: MovedStore;
}

export function movedAttemptsOf({ historyDatabase, movedStore }: Moved): MovedAttempts {
  return {
    read: (query) => readRollups(historyDatabase, query),
    reach: (accountId) => movedStore.attemptReach(accountId),
  };
}

export function movedEventsOf({ historyDatabase, movedStore }: Moved): MovedEvents {
  return {
    read: (query) => readRollups(historyDatabase, query),
    reach: (accountId) => movedStore.reach(accountId),
    known: (accountId, events) => readKnownEvents(historyDatabase, accountId, events),
  };
}

interface CheckHistoryContext {
  readonly emit: Emit;
  /** Absent: there is no history. */
  readonly historyDatabase?: PgDatabase | undefined;
}

/**
 * Look at the history's tables, which a worker makes. Without them, or while PostgreSQL is away, all that is
 * recent can be read.
 *
 * @throws AppError `conflict` when they are of a later version.
 */
export async function checkHistory({ historyDatabase, emit }: CheckHistoryContext): Promise<void> {
  try {
    if (historyDatabase) await requireSchema(historyDatabase);
  } catch (error) {
    if (error instanceof AppError && error.code === 'conflict') throw error;
    emit({ name: 'history.failed', error });
  }
}
