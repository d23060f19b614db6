import type { AccountId } from '../../domain/account';
import type { EndpointId } from '../../domain/endpoint';
import type { EventId, StoredEvent } from '../../domain/event';
import { decodeHead, decodeStored } from '../../events/event-text';
import { formatTime } from '../../platform/clock';
import type { IntakeEvent, IntakeResult, IntakeTable, KnownIntake } from '../../publish/intake';
import type { PgDatabase } from './pg-database';

/**
 * Events that were accepted with `INTAKE=durable`, as Redis stores them, until all of their deliveries have ended. `kept_at` is
 * when the row was made. `owed_since`: Redis has lost it, and it could not be sent again yet. The second table has how far
 * the rows were compared with Redis, and until when a worker is at it. A role of the API's own may erase: it gets what it needs for that,
 * and to add events.
 */
export const INTAKE_SCHEMA = `
CREATE TABLE webhook_intake (
  accepted_at timestamptz NOT NULL,
  kept_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  erased_at   timestamptz,
  owed_since  timestamptz,
  account_id  text COLLATE "C" NOT NULL,
  event_id    text COLLATE "C" NOT NULL,
  digest      text COLLATE "C" NOT NULL,
  event       text NOT NULL,
  webhook_ids text[] COLLATE "C",
  PRIMARY KEY (account_id, event_id)
);
CREATE INDEX ON webhook_intake (kept_at, account_id, event_id);
CREATE INDEX ON webhook_intake (kept_at, account_id, event_id) WHERE owed_since IS NOT NULL;
CREATE TABLE webhook_intake_check (
  checked_until timestamptz NOT NULL,
  leased_until  timestamptz NOT NULL
);
INSERT INTO webhook_intake_check VALUES (now(), '-infinity');
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT DISTINCT grantee FROM information_schema.role_table_grants
    WHERE table_schema = current_schema AND table_name = 'webhook_events' AND privilege_type = 'UPDATE'
      AND grantee NOT IN ('PUBLIC', current_user)
  LOOP
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON webhook_intake TO %I', name);
  END LOOP;
END $$;
`;

/** Up to which `kept_at` rows are compared again, because Redis went back. */
export const COMPARED_AGAIN = `
ALTER TABLE webhook_intake_check ADD COLUMN again_until timestamptz NOT NULL DEFAULT '-infinity'`;

/** In the transaction of an erasure. The head stays, and with it the id. */
export const ERASE_FROM_INTAKE = `
  UPDATE webhook_intake SET event = split_part(event, E'\\n', 1) || E'\\n', digest = '', erased_at = coalesce(erased_at, $3)
  WHERE account_id = $1 AND event_id = $2`;

/** About as many rows as given. */
export const REMOVE_FROM_INTAKE = `
  DELETE FROM webhook_intake WHERE account_id = $1 AND event_id IN (
    SELECT event_id FROM webhook_intake WHERE account_id = $1 LIMIT $2)`;

// No list of texts can stand in a list of rows.
const ADD = `
  INSERT INTO webhook_intake (accepted_at, account_id, event_id, digest, event, webhook_ids)
  SELECT accepted_at, account_id, event_id, digest, event, string_to_array(webhook_ids, ' ')
  FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    AS given (accepted_at, account_id, event_id, digest, event, webhook_ids)
  ON CONFLICT DO NOTHING RETURNING account_id, event_id`;

const GIVEN = `unnest($1::text[], $2::text[]) AS given (account_id, event_id)`;

const KNOWN = `
  SELECT account_id, event_id, digest, split_part(event, E'\\n', 1) AS head, erased_at IS NOT NULL AS is_erased
  FROM webhook_intake JOIN ${GIVEN} USING (account_id, event_id)`;

const REMOVE = `
  DELETE FROM webhook_intake USING ${GIVEN}
  WHERE (webhook_intake.account_id, webhook_intake.event_id) = (given.account_id, given.event_id)`;

const LEASE = `
  UPDATE webhook_intake_check SET leased_until = now() + interval '30 seconds'
  WHERE leased_until < now() RETURNING checked_until::text AS checked_until`;
const NOTE = `
  UPDATE webhook_intake_check SET checked_until = $1::timestamptz + $3::interval, leased_until = now() + interval '30 seconds'
  WHERE checked_until = $2::timestamptz RETURNING checked_until::text AS checked_until`;
const RELEASE = `UPDATE webhook_intake_check SET leased_until = '-infinity'`;
const CHECK_AGAIN = `
  UPDATE webhook_intake_check SET checked_until = least(checked_until, $1::timestamptz), again_until = clock_timestamp()`;

/** What has been under way for this long has reached Redis, or its request was given up. The same after Redis went back. */
const SETTLED_AFTER = `interval '60 seconds'`;

const pageOf = (condition: string) => `
  SELECT kept_at::text AS kept_at, account_id, event_id, webhook_ids IS NULL AS is_routed_later,
    kept_at < (SELECT again_until FROM webhook_intake_check) AS is_again
  FROM webhook_intake WHERE (kept_at, account_id, event_id) > ($1::timestamptz, $2, $3) AND ${condition}
  ORDER BY kept_at, account_id, event_id LIMIT $4`;
const PAGE = pageOf(`kept_at < now() - ${SETTLED_AFTER}
    AND (SELECT again_until FROM webhook_intake_check) < now() - ${SETTLED_AFTER}`);
const OWED_PAGE = pageOf('owed_since IS NOT NULL');

const COUNT_OWED = `SELECT count(*)::integer AS count FROM webhook_intake WHERE owed_since IS NOT NULL`;

// By the start of its head. It takes its place in time when it is due: a new time may have been set, and the history tells it.
const IS_SCHEDULED = `substr(i.event, 1, 9) = '{"state":'`;
const MOVED = `webhook_events AS e WHERE e.account_id = i.account_id AND e.event_id = i.event_id`;
// Other events have one time: nothing is looked up for them.
const TIMES = `unnest(i.accepted_at || CASE WHEN ${IS_SCHEDULED} THEN ARRAY(SELECT e.accepted_at FROM ${MOVED}) END)`;

// Each retention has tables of its own: with it, a look is one into one table.
const HAS_ENDED = `EXISTS (
    SELECT FROM ${TIMES} AS t (accepted_at) CROSS JOIN webhook_retentions AS r CROSS JOIN LATERAL (
      SELECT FROM webhook_deliveries AS d
      WHERE d.keep_days = r.keep_days AND d.account_id = i.account_id AND d.accepted_at = t.accepted_at
        AND d.event_id = i.event_id AND d.webhook_id = w.id
      LIMIT 1
    ) AS found)`;
const HAS_MOVED = `EXISTS (SELECT FROM ${MOVED})`;
const WAS_CANCELLED = `(${IS_SCHEDULED} AND EXISTS (SELECT FROM ${MOVED} AND e.cancelled_due_at IS NOT NULL))`;
const IS_OVER = `(i.erased_at IS NOT NULL OR ${WAS_CANCELLED} OR CASE WHEN i.webhook_ids IS NULL THEN ${HAS_MOVED}
  ELSE NOT EXISTS (SELECT FROM unnest(i.webhook_ids) AS w (id) WHERE NOT ${HAS_ENDED}) END)`;

const OPEN = `
  SELECT i.account_id, i.event_id, i.event, i.webhook_ids IS NULL AS is_routed_later, i.owed_since,
    ARRAY(SELECT w.id FROM unnest(i.webhook_ids) AS w (id) WHERE NOT ${HAS_ENDED}) AS webhook_ids
  FROM webhook_intake AS i JOIN ${GIVEN} USING (account_id, event_id) WHERE NOT ${IS_OVER}`;

const OWE = `
  UPDATE webhook_intake SET owed_since = CASE WHEN $3 THEN now() END FROM ${GIVEN}
  WHERE (webhook_intake.account_id, webhook_intake.event_id) = (given.account_id, given.event_id)
    AND (owed_since IS NULL) = $3`;
const NOTE_SENT = `
  UPDATE webhook_intake SET owed_since = NULL, kept_at = clock_timestamp() FROM ${GIVEN}
  WHERE (webhook_intake.account_id, webhook_intake.event_id) = (given.account_id, given.event_id)`;
const SET_RECEIVERS = `
  UPDATE webhook_intake SET webhook_ids = $3 WHERE (account_id, event_id) = ($1, $2) AND webhook_ids IS NULL`;

const ERASED = `
  SELECT account_id, event_id FROM webhook_intake JOIN ${GIVEN} USING (account_id, event_id) WHERE erased_at IS NOT NULL`;

// Those that are over stay for a day: their ids stay known if Redis forgets them. No other one is kept for longer than
// Redis would have kept it.
const REMOVE_OVER = `
  WITH page AS (
    SELECT kept_at, account_id, event_id FROM webhook_intake
    WHERE (kept_at, account_id, event_id) > ($1::timestamptz, $2, $3) AND kept_at < now() - interval '1 day'
    ORDER BY kept_at, account_id, event_id LIMIT $4
  ), removed AS (
    DELETE FROM webhook_intake AS i USING page
    WHERE (i.account_id, i.event_id) = (page.account_id, page.event_id)
      AND (${IS_OVER} OR greatest(i.kept_at, i.accepted_at) < now() - make_interval(secs => $5))
  )
  SELECT kept_at::text AS kept_at, account_id, event_id FROM page ORDER BY kept_at, account_id, event_id`;

export interface EventKey {
  readonly accountId: AccountId;
  readonly eventId: EventId;
}

/** Where an event is in the table. */
export interface IntakePlace extends EventKey {
  /** In the words of PostgreSQL: it is more exact than our times. */
  readonly keptAt: string;
}

export interface ListedIntake extends IntakePlace {
  /** Its receivers were to be found by a worker. */
  readonly isRoutedLater: boolean;
  /** It was compared before, and Redis went back since. */
  readonly isAgain: boolean;
}

/** An event that has not ended everywhere. */
export interface OpenIntake {
  readonly event: StoredEvent;
  /** Since when it could not be sent again. Milliseconds since the Unix epoch. */
  readonly owedSince: number | undefined;
  /** The receivers whose deliveries have not ended; `undefined`: they are still to be found. */
  readonly endpointIds: readonly EndpointId[] | undefined;
}

interface KeyRow {
  readonly account_id: AccountId;
  readonly event_id: EventId;
}

interface PlaceRow extends KeyRow {
  readonly kept_at: string;
}

const BEFORE_ALL: IntakePlace = {
  keptAt: '-infinity',
  accountId: '' as AccountId,
  eventId: '' as EventId,
};

/** The table of events that were accepted with `INTAKE=durable`. */
export class PgIntake implements IntakeTable {
  constructor(private readonly database: PgDatabase) {}

  async add(events: readonly IntakeEvent[]): Promise<readonly IntakeResult[]> {
    const [accountIds, eventIds] = keysOf(events);
    const values = [
      events.map(({ acceptedAt }) => formatTime(acceptedAt)),
      accountIds,
      eventIds,
      events.map(({ digest }) => digest),
      events.map(({ text }) => text),
      events.map(({ endpointIds }) => endpointIds?.join(' ') ?? null),
    ];
    const rows = await this.database.commit<KeyRow>({ name: 'add-intake', text: ADD, values });
    if (rows.length === events.length) return events.map(() => ({ kind: 'added' }));
    const added = new Set(rows.map(nameOf));
    const known = await this.#known(events);
    return events.map((event) => {
      const name = nameOf({ account_id: event.accountId, event_id: event.eventId });
      return added.has(name) ? { kind: 'added' } : { kind: 'there', known: known.get(name) };
    });
  }

  async remove(events: readonly EventKey[]): Promise<void> {
    await this.database.commit({ name: 'remove-intake', text: REMOVE, values: keysOf(events) });
  }

  /** Take on the comparison with Redis, for half a minute. Gives up to when it was compared; `undefined`: another worker does it. */
  async lease(): Promise<string | undefined> {
    const rows = await this.database.query<{ checked_until: string }>(LEASE);
    return rows[0]?.checked_until;
  }

  /**
   * Note up to which one it was compared, and keep the lease.
   *
   * @param isAll whether all were compared that have the same time.
   * @returns `undefined` when it was sent back meanwhile.
   */
  async noteChecked({ keptAt }: IntakePlace, before: string, isAll: boolean): Promise<string | undefined> {
    const more = isAll ? '1 microsecond' : '0';
    const rows = await this.database.query<{ checked_until: string }>(NOTE, [keptAt, before, more]);
    return rows[0]?.checked_until;
  }

  async release(): Promise<void> {
    await this.database.query(RELEASE);
  }

  /** Compare all again that was kept from some time on. @param since milliseconds since the Unix epoch; `undefined`: all. */
  async checkAgain(since: number | undefined): Promise<void> {
    await this.database.query(CHECK_AGAIN, [since === undefined ? '-infinity' : formatTime(since)]);
  }

  /** Those that were kept after a place, or from a time on, and a minute ago or earlier. The oldest come first. */
  async list(after: IntakePlace | string, limit: number): Promise<readonly ListedIntake[]> {
    const place = typeof after === 'string' ? { ...BEFORE_ALL, keptAt: after } : after;
    const values = [place.keptAt, place.accountId, place.eventId, limit];
    return (await this.database.query<ListedRow>(PAGE, values)).map(listedOf);
  }

  /** Those that could not be sent again yet. */
  async listOwed(after: IntakePlace | undefined, limit: number): Promise<readonly ListedIntake[]> {
    const { keptAt, accountId, eventId } = after ?? BEFORE_ALL;
    return (await this.database.query<ListedRow>(OWED_PAGE, [keptAt, accountId, eventId, limit])).map(
      listedOf,
    );
  }

  /** Whether an event is there with its payload. @throws AppError `history_unavailable`. */
  async has({ accountId, eventId }: EventKey): Promise<boolean> {
    const text = 'SELECT 1 FROM webhook_intake WHERE (account_id, event_id) = ($1, $2) AND erased_at IS NULL';
    return (await this.database.read({ name: 'has-intake', text, values: [accountId, eventId] })).length > 0;
  }

  async countOwed(): Promise<number> {
    return (await this.database.query<{ count: number }>(COUNT_OWED))[0]?.count ?? 0;
  }

  /** Those of some events that have not ended everywhere, as far as the history knows. */
  async findOpen(events: readonly EventKey[]): Promise<readonly OpenIntake[]> {
    const rows = await this.database.query<OpenRow>(OPEN, keysOf(events));
    return rows.map((row) => ({
      event: {
        ...decodeStored(row.account_id, row.event_id, row.event),
        ...(decodeHead(row.event).isAimed && { endpointIds: row.webhook_ids }),
      },
      owedSince: row.owed_since?.getTime(),
      endpointIds: row.is_routed_later ? undefined : row.webhook_ids,
    }));
  }

  /** Note whether events are still to be sent again. */
  async setOwed(events: readonly EventKey[], isOwed: boolean): Promise<void> {
    if (events.length > 0) await this.database.query(OWE, [...keysOf(events), isOwed]);
  }

  /** Note the receivers of an event that were found later. Those whose deliveries are in the history may be missing. */
  async setReceivers({ accountId, eventId }: EventKey, endpointIds: readonly EndpointId[]): Promise<void> {
    await this.database.query(SET_RECEIVERS, [accountId, eventId, endpointIds]);
  }

  /** Note that events were sent again. They are compared anew: Redis may go back once more. */
  async noteSent(events: readonly EventKey[]): Promise<void> {
    if (events.length > 0) await this.database.query(NOTE_SENT, keysOf(events));
  }

  /** Those of some events that were erased. */
  async erasedAmong(events: readonly EventKey[]): Promise<readonly EventKey[]> {
    if (events.length === 0) return [];
    const rows = await this.database.query<KeyRow>(ERASED, keysOf(events));
    return rows.map(({ account_id: accountId, event_id: eventId }) => ({ accountId, eventId }));
  }

  /**
   * Remove some that ended everywhere, or that no store has any more.
   *
   * @param keptMs how long an event is kept at most.
   * @returns where to go on; `undefined`: it has seen all.
   */
  async removeOver(
    after: IntakePlace | undefined,
    limit: number,
    keptMs: number,
  ): Promise<IntakePlace | undefined> {
    const { keptAt, accountId, eventId } = after ?? BEFORE_ALL;
    const values = [keptAt, accountId, eventId, limit, keptMs / 1_000];
    const rows = await this.database.query<PlaceRow>(REMOVE_OVER, values);
    const last = rows.at(-1);
    return last && rows.length === limit ? placeOf(last) : undefined;
  }

  async #known(events: readonly IntakeEvent[]): Promise<ReadonlyMap<string, KnownIntake>> {
    const rows = await this.database.query<KnownRow>(KNOWN, keysOf(events));
    return new Map(
      rows.map((row) => [
        nameOf(row),
        { head: decodeHead(`${row.head}\n`), digest: row.digest, isErased: row.is_erased },
      ]),
    );
  }
}

interface KnownRow extends KeyRow {
  readonly digest: string;
  readonly head: string;
  readonly is_erased: boolean;
}

interface ListedRow extends PlaceRow {
  readonly is_routed_later: boolean;
  readonly is_again: boolean;
}

interface OpenRow extends KeyRow {
  readonly event: string;
  readonly is_routed_later: boolean;
  readonly owed_since: Date | null;
  readonly webhook_ids: readonly EndpointId[];
}

function keysOf(events: readonly EventKey[]): [string[], string[]] {
  return [events.map(({ accountId }) => accountId), events.map(({ eventId }) => eventId)];
}

function nameOf({ account_id, event_id }: KeyRow): string {
  return `${account_id}/${event_id}`;
}

function placeOf({ account_id: accountId, event_id: eventId, kept_at: keptAt }: PlaceRow): IntakePlace {
  return { accountId, eventId, keptAt };
}

function listedOf(row: ListedRow): ListedIntake {
  return { ...placeOf(row), isRoutedLater: row.is_routed_later, isAgain: row.is_again };
}
