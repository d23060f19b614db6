import type { RecordForm } from '../domain/record-form';
import type { Emit } from '../domain/signal';
import { EndedList } from '../events/redis-ended-list';
import type { Retention } from '../events/redis-event-index';
import { MovedStore } from '../events/redis-moved';
import { MovedIds } from '../events/redis-moved-ids';
import { RehydrationStore } from '../events/redis-rehydration';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';
import { PgAuditLog } from './database/pg-audit-log';
import { PgDatabase, type PgDatabaseOptions } from './database/pg-database';
import { PgHistory } from './database/pg-history';
import { HistoryWriter } from './database/pg-history-writer';
import { PgIntake } from './database/pg-intake';
import { PgRecordCopies } from './database/pg-record-copies';
import { PgRollups } from './database/pg-rollups';
import { requireSchema } from './database/pg-schema';
import { PgWitness } from './database/pg-witness';

export type MovedHistory = ReturnType<typeof openMovedHistory>;

/**
 * Open what each process with a history has: the database, and what Redis knows of what has moved to it. It connects
 * when it is asked first.
 */
export function openMovedHistory(
  options: PgDatabaseOptions,
  redis: RedisClient,
  retention: Retention,
  clock: Clock,
  form?: RecordForm,
) {
  const historyDatabase = new PgDatabase(options);
  return {
    historyDatabase,
    pgHistory: new PgHistory(historyDatabase),
    pgRollups: new PgRollups(historyDatabase),
    pgAuditLog: new PgAuditLog(historyDatabase),
    pgRecordCopies: new PgRecordCopies(historyDatabase),
    pgIntake: new PgIntake(historyDatabase),
    pgWitness: new PgWitness(historyDatabase),
    historyWriter: new HistoryWriter(historyDatabase, clock),
    endedList: new EndedList(redis),
    movedStore: new MovedStore(redis, retention, form),
    movedIds: new MovedIds(redis, retention.ageMs),
    rehydrationStore: new RehydrationStore(retention),
  };
}

/**
 * Look at the history's tables, which a worker makes. Without them, or while PostgreSQL is away, all that is
 * recent can be read.
 *
 * @throws AppError `conflict` when they are of a later version.
 */
export async function checkHistory({ historyDatabase }: MovedHistory, emit: Emit): Promise<void> {
  try {
    await requireSchema(historyDatabase);
  } catch (error) {
    if (error instanceof AppError && error.code === 'conflict') throw error;
    emit({ name: 'history.failed', error });
  }
}
