import type { UsageRecorder } from '../../accounts/account-quota';
import type { AuditLog } from '../../accounts/audit/redis-audit-log';
import type { OpenAccounts } from '../../accounts/open-accounts';
import type { AccountStore } from '../../accounts/redis-account-store';
import type { AuditBounds } from '../../domain/audit';
import type { Emit } from '../../domain/signal';
import type { EndedList } from '../../events/redis-ended-list';
import type { EventStore } from '../../events/redis-event-store';
import type { MovedStore } from '../../events/redis-moved';
import type { MovedIds } from '../../events/redis-moved-ids';
import type { Clock } from '../../platform/clock';
import type { Atomic } from '../../platform/redis-atomic';
import type { RedisClock } from '../../platform/redis-clock';
import type { RedisClient } from '../../platform/redis-connect';
import type { DeliveryQueue } from '../../queue/bullmq-delivery-queue';
import type { PgAuditLog } from '../database/pg-audit-log';
import type { PgDatabase } from '../database/pg-database';
import type { PgHistory } from '../database/pg-history';
import type { HistoryWriter } from '../database/pg-history-writer';

/** What the parts of a worker need that write to the history. */
export interface MoverParts {
  readonly historyDatabase: PgDatabase;
  readonly historyWriter: HistoryWriter;
  readonly pgHistory: PgHistory;
  readonly pgAuditLog: PgAuditLog;
  readonly endedList: EndedList;
  readonly movedStore: MovedStore;
  readonly movedIds: MovedIds;
  readonly eventStore: EventStore;
  readonly deliveryQueue: DeliveryQueue;
  readonly accountStore: AccountStore;
  readonly openAccounts: OpenAccounts;
  readonly auditLog: AuditLog;
  readonly auditBounds: AuditBounds;
  readonly usageRecorder: UsageRecorder;
  /** After a reconnect, this may be a Redis that does not know the last moves. */
  readonly redis: RedisClient;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly workerId: string;
  /** How long after its end a delivery moves. */
  readonly moveAfterMs: number;
  /** For how many days after its acceptance an event is kept, unless its account has a time of its own. */
  readonly keepDays: number;
  readonly clock: Clock;
  readonly redisClock: RedisClock;
  readonly emit: Emit;
}
