import type { UsageRecorder } from '../../accounts/account-quota';
import type { RecordForm } from '../../domain/record-form';
import type { Emit } from '../../domain/signal';
import type { Retention } from '../../events/redis-event-index';
import { MovedStore } from '../../events/redis-moved';
import { MovedIds } from '../../events/redis-moved-ids';
import { OverList } from '../../events/redis-over-list';
import { RecalledStore } from '../../events/redis-recalled';
import type { Clock } from '../../platform/clock';
import type { Atomic } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import { PgAuditLog } from '../database/pg-audit-log';
import { PgDatabase, type PgDatabaseOptions } from '../database/pg-database';
import { PgHistory } from '../database/pg-history';
import type { RecallContext } from './recall';

export interface OpenMovedHistoryContext extends Pick<RecallContext, 'eventStore' | 'deliveryStore'> {
  readonly config: {
    readonly HISTORY_DATABASE_URL?: string | undefined;
    readonly RECORD_FORM?: RecordForm | undefined;
  };
  readonly redis: RedisClient;
  /** On this Redis. */
  readonly atomic: Atomic;
  readonly retention: Retention;
  readonly usageRecorder: UsageRecorder;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Open what each process with a history has: the database, what Redis knows of what has moved to it, and the way
 * back. Gives nothing if there is no history. It connects when it is asked first.
 */
export function openMovedHistory(
  context: OpenMovedHistoryContext,
  connections: Pick<PgDatabaseOptions, 'applicationName' | 'readers' | 'writers'>,
) {
  const { config, redis, retention, usageRecorder, atomic, clock, emit, eventStore, deliveryStore } = context;
  const url = config.HISTORY_DATABASE_URL;
  if (url === undefined) return undefined;
  const historyDatabase = new PgDatabase({ ...connections, url, emit });
  const moved = {
    pgHistory: new PgHistory(historyDatabase),
    pgAuditLog: new PgAuditLog(historyDatabase),
    overList: new OverList(redis),
    movedStore: new MovedStore(redis, retention),
    movedIds: new MovedIds(redis, retention.ageMs),
    recalledStore: new RecalledStore(retention),
  };
  const stores = { eventStore, deliveryStore, retention, usageRecorder };
  const recalling: RecallContext = { ...moved, ...stores, recordForm: config.RECORD_FORM, atomic, clock };
  return { ...moved, historyDatabase, recalling };
}
