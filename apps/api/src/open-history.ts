import type { Emit } from '@hookferry/core/domain/signal';
import type { MovedEvents } from '@hookferry/core/history/count-events';
import type { PgDatabase } from '@hookferry/core/history/database/pg-database';
import { readKnownEvents, readRollups } from '@hookferry/core/history/database/pg-rollups';
import { requireSchema } from '@hookferry/core/history/database/pg-schema';
import {
  type OpenMovedHistoryContext,
  openMovedHistory,
} from '@hookferry/core/history/mover/open-moved-history';
import type { MovedAttempts } from '@hookferry/core/history/read-metrics';
import { AppError } from '@hookferry/core/platform/app-error';

// A page takes milliseconds.
const READERS = 5;
// For erasures.
const WRITERS = 1;

/** Open the history, if there is one. It connects when it is asked first. */
export function openHistory(context: OpenMovedHistoryContext) {
  const parts = openMovedHistory(context, {
    applicationName: 'hookferry-api',
    readers: READERS,
    writers: WRITERS,
  });
  if (!parts) return undefined;
  const movedAttempts: MovedAttempts = {
    read: (query) => readRollups(parts.historyDatabase, query),
    reach: (accountId) => parts.movedStore.attemptReach(accountId),
  };
  const movedEvents: MovedEvents = {
    read: (query) => readRollups(parts.historyDatabase, query),
    reach: (accountId) => parts.movedStore.reach(accountId),
    known: (accountId, events) => readKnownEvents(parts.historyDatabase, accountId, events),
  };
  return { ...parts, movedAttempts, movedEvents };
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
