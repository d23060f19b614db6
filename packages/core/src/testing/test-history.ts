import type { AccountId } from '../domain/account';
import type { MovedEvent } from '../domain/moved-event';
import { PgDatabase } from '../history/database/pg-database';
import { PgHistory } from '../history/database/pg-history';
import { HistoryWriter } from '../history/database/pg-history-writer';
import { migrate } from '../history/database/pg-schema';
import type { DeliveryKey } from '../history/history-source';
import { systemClock } from '../platform/clock';
import { PostgresServer } from './postgres-server';

export interface TestHistory {
  readonly server: PostgresServer;
  readonly database: PgDatabase;
  readonly history: PgHistory;
  /** Write events as a process does that has written nothing before. */
  write(events: readonly MovedEvent[]): Promise<void>;
  close(): Promise<void>;
}

/** A PostgreSQL of a test's own, with the history's schema. */
export async function openTestHistory(): Promise<TestHistory> {
  const server = await PostgresServer.start();
  const database = new PgDatabase({ url: server.url, applicationName: 'test', readers: 2, writers: 2 });
  await migrate(database);
  return {
    server,
    database,
    history: new PgHistory(database),
    write: async (events) => {
      const result = await new HistoryWriter(database, systemClock).write(events, Number.POSITIVE_INFINITY);
      if (result.kind === 'refused') throw new Error(result.reason);
    },
    close: async () => {
      await database.close();
      await server.close();
    },
  };
}

/** The logs of these deliveries, in their order, as they would be sent again. */
export async function readLogs(
  history: Pick<PgHistory, 'readForRehydration'>,
  accountId: AccountId,
  keys: readonly DeliveryKey[],
): Promise<readonly (string | undefined)[]> {
  const events = await history.readForRehydration(accountId, keys);
  const logs = new Map(
    events.flatMap(({ id, deliveries }) =>
      deliveries.map(({ endpointId, log }) => [`${id} ${endpointId}`, log]),
    ),
  );
  return keys.map(({ eventId, endpointId }) => logs.get(`${eventId} ${endpointId}`));
}
