import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import { readLog, readSummary } from '../domain/delivery-log';
import type { EventId } from '../domain/event';
import type { MovedEvent } from '../domain/moved-event';
import type { PgHistory } from '../history/database/pg-history';
import type { HistoryWriter } from '../history/database/pg-history-writer';
import { noDeliveries } from '../history/history-source';

/** What is in the history: in memory, with the rules of the real one. */
export class MemoryHistory {
  readonly #events = new Map<string, MovedEvent>();
  readonly #logs = new Map<string, string>();
  /** Happens before a write. */
  onWrite: (events: readonly MovedEvent[]) => unknown = () => {};
  onPing: () => void = () => {};
  /** Why an event is refused, if it is. */
  refusalOf: (event: MovedEvent) => string | undefined = () => undefined;
  writes = 0;

  readonly write: HistoryWriter['write'] = async (events) => {
    this.writes += 1;
    await this.onWrite(events);
    const code = events.map((event) => this.refusalOf(event)).find((why) => why !== undefined);
    if (code !== undefined) return { kind: 'refused', code, reason: `${code}: no luck` };
    for (const { deliveries, isExpired, ...event } of events) {
      const key = `${event.accountId}/${event.id}`;
      const before = this.#events.get(key);
      if (isExpired && !before) continue;
      if (before?.head.erasedAt === undefined) this.#events.set(key, { ...event, deliveries: [] });
      for (const { endpointId, log } of deliveries) this.#logs.set(`${key}.${endpointId}`, log);
    }
    return { kind: 'written' };
  };

  readonly ping = async (): Promise<void> => this.onPing();

  clear(): void {
    this.#events.clear();
    this.#logs.clear();
  }

  find(accountId: AccountId, id: EventId): MovedEvent | undefined {
    return this.#events.get(`${accountId}/${id}`);
  }

  logOf(accountId: AccountId, { eventId, endpointId }: DeliveryParts): string | undefined {
    return this.#logs.get(`${accountId}/${eventId}.${endpointId}`);
  }

  readonly readForRehydration: PgHistory['readForRehydration'] = async (accountId, wanted) =>
    [...new Set(wanted.map(({ eventId }) => eventId))].flatMap((eventId) => {
      const event = this.find(accountId, eventId);
      if (!event) return [];
      const deliveries = wanted.flatMap(({ endpointId, ...mark }) => {
        const log = mark.eventId === eventId ? this.logOf(accountId, { eventId, endpointId }) : undefined;
        return log === undefined ? [] : [{ endpointId, log }];
      });
      return [{ ...event, deliveries }];
    });

  readonly readStates: PgHistory['readStates'] = async (accountId, wanted) =>
    wanted.map((delivery) => {
      const log = this.logOf(accountId, delivery);
      return log === undefined ? undefined : readLog(log);
    });

  readonly readHeads: PgHistory['readHeads'] = async (accountId, wanted) =>
    wanted.map(({ eventId }) => {
      const event = this.find(accountId, eventId);
      return event && { ...event.head, acceptedAt: event.createdAt };
    });

  readonly countDeliveries: PgHistory['countDeliveries'] = async (accountId, id) => {
    const counts = noDeliveries();
    for (const [key, log] of this.#logs) {
      if (!key.startsWith(`${accountId}/${id}.`)) continue;
      counts[readSummary(log).status] += 1;
      counts.total += 1;
    }
    return counts;
  };
}
