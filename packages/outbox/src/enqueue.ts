import { randomBytes } from 'node:crypto';
import type { BuiltInEvents, EventInput } from '@hookferry/producer';
import { toEventJob } from '@hookferry/producer/internal';
import { checkTable, DEFAULT_TABLE } from './table';

/** Whatever runs a statement in your transaction: a client of `pg`, or a function of your library (see the README). */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<unknown>;
}

export interface InsertStatement {
  /** With the parameters `$1` and `$2`. */
  readonly text: string;
  readonly values: [eventId: string, event: string];
}

/**
 * The statement that puts an event into the outbox, for libraries that take a statement.
 *
 * @throws PublishError `invalid_event`: nothing that could never be published gets into the table.
 */
export function insertOf<Events extends object = BuiltInEvents>(
  event: EventInput<Events>,
  table: string = DEFAULT_TABLE,
): InsertStatement {
  const { eventId } = toEventJob({ ...event, id: event.id ?? newEventId() });
  const text = `INSERT INTO ${checkTable(table)} (event_id, event) VALUES ($1, $2)`;
  return { text, values: [eventId, JSON.stringify({ ...event, id: eventId })] };
}

/**
 * Puts an event into the outbox in your transaction: if that is rolled back, there is no event; if it is committed, a relay
 * publishes it.
 *
 * @returns the event's id: the given one, or a generated one. @throws PublishError `invalid_event`.
 */
export async function enqueue<Events extends object = BuiltInEvents>(
  transaction: Queryable,
  event: EventInput<Events>,
  table: string = DEFAULT_TABLE,
): Promise<string> {
  const { text, values } = insertOf<Events>(event, table);
  await transaction.query(text, values);
  return values[0];
}

let last = { ms: 0, count: 0 };

/** In the order in which a process makes them they sort: a relay publishes many such events of an account within a millisecond. */
function newEventId(): string {
  const ms = Math.max(Date.now(), last.ms);
  last = { ms, count: ms === last.ms ? last.count + 1 : 0 };
  const count = last.count.toString(36).padStart(4, '0');
  return `${ms.toString(36).padStart(9, '0')}${count}${randomBytes(8).toString('hex')}`;
}
