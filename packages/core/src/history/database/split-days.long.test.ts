import * as fc from 'fast-check';
import type { AccountId } from '../../domain/account';
import type { AttemptOutcome } from '../../domain/attempt';
import { type DeliveryFact, encodeFact } from '../../domain/delivery-fact';
import type { EndpointId } from '../../domain/endpoint';
import type { MovedDelivery, MovedEvent } from '../../domain/moved-event';
import { systemClock } from '../../platform/clock';
import { buildAttempt } from '../../testing/build-attempt';
import { buildMovedEvent } from '../../testing/build-moved-event';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '../../testing/postgres-server';
import { createSeededRandom } from '../../testing/seeded-random';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import { statusClasses } from '../delivery-standings';
import type { ListMark } from '../history-source';
import type { RollupDimension } from '../rollups';
import { type NamedQuery, PgDatabase } from './pg-database';
import { DAILY_TABLES, dateOf, dropDays, ROLLUPS } from './pg-days';
import { eraseAccount, erasePayload } from './pg-erase';
import { PgHistory } from './pg-history';
import { HistoryWriter } from './pg-history-writer';
import { PgRollups } from './pg-rollups';
import { migrate } from './pg-schema';
import { readBytes } from './pg-usage';

if (!hasPostgres) console.warn(`SKIPPED: days that are split by account, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 10, 20);
const DAYS = 4;
const KEPT = [7, 90];
const PARTS = [0, 1];
const NEVER = Number.POSITIVE_INFINITY;
const TABLES = [...DAILY_TABLES, ROLLUPS];
const ATTEMPTED_AFTER_MS = 500;

/** The same history twice: with whole days, and with days that are split by account, as docs/history.md says. */
describePostgres('days that are split by account', () => {
  const random = createSeededRandom(31);
  const pick = <Item>(items: readonly [Item, ...Item[]]): Item =>
    items[Math.floor(random() * items.length)] ?? items[0];
  const accounts = Array.from({ length: 8 }, uniqueAccountId) as [AccountId, ...AccountId[]];
  const endpoints = Array.from({ length: 4 }, uniqueEndpointId) as [EndpointId, ...EndpointId[]];
  const types = ['a.b', 'c.d'] as const;
  const outcomes = ['delivered', 'http_4xx', 'http_5xx', 'dns_error'] as const;
  const events = Array.from({ length: 240 }, () => buildRandomEvent());

  let server: PostgresServer;
  let whole: Side;
  let split: Side;

  beforeAll(async () => {
    server = await PostgresServer.start();
    whole = await openSide('whole');
    split = await openSide('split');
    for (const statement of splitting()) await split.query(statement);
    for (const side of [whole, split]) {
      // Two movers, which have the same accounts.
      const batches = [0, 1, 2, 3].map((n) => events.filter((_, index) => index % 4 === n));
      await Promise.all(batches.map((batch) => side.write(batch)));
    }
  });
  afterAll(async () => {
    await whole?.database.close();
    await split?.database.close();
    await server?.close();
  });

  function buildRandomEvent(): MovedEvent {
    const createdAt = FIRST + Math.floor(random() * DAYS * 10) * (DAY_MS / 10);
    return buildMovedEvent({
      accountId: pick(accounts),
      createdAt,
      head: { type: pick(types), isAimed: false },
      dataText: `{"n":${Math.floor(random() * 5)},"text":"secret"}`,
      keepDays: pick(KEPT as [number, ...number[]]),
      deliveries: endpoints.filter(() => random() < 0.6).map((id) => buildRandomDelivery(id, createdAt)),
    });
  }

  function buildRandomDelivery(endpointId: EndpointId, createdAt: number): MovedDelivery {
    const outcome = pick<AttemptOutcome>(outcomes);
    const startedAt = createdAt + ATTEMPTED_AFTER_MS;
    const first = factOf(startedAt, outcome);
    const facts = random() < 0.3 ? [first, factOf(startedAt + 1_000, 'delivered', 2)] : [first];
    return { endpointId, log: facts.map(encodeFact).join('') };
  }

  function factOf(startedAt: number, outcome: AttemptOutcome, number = 1): DeliveryFact {
    const { responseStatus: _none, ...noAnswer } = buildAttempt({ number, startedAt, outcome });
    const status = { delivered: 204, http_4xx: 404, http_5xx: 500 }[outcome as 'delivered'];
    const attempt = status === undefined ? noAnswer : { ...noAnswer, responseStatus: status };
    return { kind: 'attempted', attempt, nextAttemptAt: undefined };
  }

  interface Side {
    readonly database: PgDatabase;
    readonly history: PgHistory;
    readonly query: (sql: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
    readonly write: (batch: readonly MovedEvent[]) => Promise<void>;
  }

  async function openSide(name: string): Promise<Side> {
    await server.query(`CREATE DATABASE ${name}`);
    const url = server.url.replace(/\/postgres$/, `/${name}`);
    const database = new PgDatabase({ url, applicationName: 'test', readers: 2, writers: 4 });
    await migrate(database);
    return {
      database,
      history: new PgHistory(database),
      query: async (sql, values = []) =>
        await database.connected(async (client) => (await client.query(sql, values)).rows),
      write: async (batch) => {
        const writer = new HistoryWriter(database, systemClock);
        expect(await writer.write(batch, NEVER)).toEqual({ kind: 'written' });
      },
    };
  }

  /** As by hand, ahead. */
  function splitting(): string[] {
    return TABLES.flatMap((table) =>
      KEPT.flatMap((keepDays) =>
        Array.from({ length: DAYS + 1 }, (_, index) => {
          const [from, to] = [index, index + 1].map((n) =>
            dateOf(new Date(FIRST + n * DAY_MS).toISOString()),
          );
          const name = `${table}_k${keepDays}_${from?.replaceAll('-', '')}`;
          return [
            `CREATE TABLE ${name} PARTITION OF ${table}
             FOR VALUES FROM (${keepDays}, '${from} 00:00+00') TO (${keepDays}, '${to} 00:00+00') PARTITION BY HASH (account_id)`,
            ...PARTS.map(
              (part) =>
                `CREATE TABLE ${name}_${part} PARTITION OF ${name} FOR VALUES WITH (MODULUS ${PARTS.length}, REMAINDER ${part})`,
            ),
          ];
        }).flat(),
      ),
    );
  }

  /** Asks both, and gives what they say. */
  async function both<Answer>(ask: (side: Side) => Promise<Answer>): Promise<Answer> {
    const [ofWhole, ofSplit] = [await ask(whole), await ask(split)];
    expect(ofSplit).toEqual(ofWhole);
    return ofSplit;
  }

  // Mostly absent: many filters at once would find nothing.
  const optional = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
    fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary: value, weight: 1 });
  const range = {
    since: optional(fc.nat(41).map((n) => FIRST + (n - 1) * (DAY_MS / 10))),
    until: optional(fc.nat(41).map((n) => FIRST + (n - 1) * (DAY_MS / 10))),
  };
  const mark = fc.tuple(fc.nat(events.length - 1), fc.nat(endpoints.length - 1)).map(
    ([event, endpoint]): ListMark => ({
      createdAt: events[event]?.createdAt ?? 0,
      eventId: events[event]?.id ?? ('' as MovedEvent['id']),
      endpointId: endpoints[endpoint],
    }),
  );
  const span = fc.record({
    limit: fc.integer({ min: 1, max: 60 }),
    after: optional(mark),
    last: optional(mark),
  });
  const accountId = fc.constantFrom(...accounts);
  const data = optional(fc.nat(5).map((n) => `{"n":${n}}`));

  it('are used by movers, which make none of their own', async () => {
    const leaves = await split.query(
      `SELECT DISTINCT parent.relname AS day FROM pg_inherits JOIN pg_class AS parent ON parent.oid = inhparent
       JOIN pg_class AS leaf ON leaf.oid = inhrelid WHERE leaf.relkind = 'r'`,
    );
    expect(leaves).toHaveLength(TABLES.length * KEPT.length * (DAYS + 1));
    for (const table of TABLES) {
      const used = await split.query(
        `SELECT DISTINCT right(tableoid::regclass::text, 2) AS part FROM ${table}`,
      );
      expect(used.map(({ part }) => part).toSorted()).toEqual(PARTS.map((part) => `_${part}`));
    }
  });

  it('have each row that whole days have, also when it moves again and was sent again since', async () => {
    const changed = events.slice(0, 40).map((event) => ({
      ...event,
      deliveries: event.deliveries.map(({ endpointId, log }) => ({
        endpointId,
        log: log + encodeFact(factOf(event.createdAt + 5_000, 'delivered', 3)),
      })),
    }));
    for (const side of [whole, split]) {
      await side.write(events.slice(0, 80));
      await side.write(changed);
    }
    expect(await rowsOf(split)).toEqual(await rowsOf(whole));
  });

  async function rowsOf({ query }: Side): Promise<unknown[]> {
    const tables = [...TABLES, 'webhook_usage'];
    const rows = await Promise.all(
      tables.map((table) => query(`SELECT t::text FROM ${table} AS t ORDER BY 1`)),
    );
    return rows.flat();
  }

  it('give the same deliveries, by any filter from any mark', async () => {
    const query = fc.record({
      accountId,
      ...range,
      data,
      endpointId: optional(fc.constantFrom(...endpoints)),
      eventId: optional(fc.constantFrom(...events.map(({ id }) => id))),
      eventType: optional(fc.constantFrom(...types)),
      status: optional(fc.constantFrom('delivered', 'exhausted', 'aborted', 'cancelled')),
      outcome: optional(fc.constantFrom(...outcomes)),
      responseStatus: optional(fc.constantFrom(204, 404)),
      statusClass: optional(fc.constantFrom(...statusClasses)),
    });
    let found = 0;
    const property = fc.asyncProperty(query, span, async (asked, part) => {
      found += (await both(({ history }) => history.listDeliveries(asked, part))).entries.length;
    });
    await fc.assert(property, { numRuns: 60 });
    expect(found).toBeGreaterThan(0);
  });

  it('give the same events, walks and rollups', async () => {
    const dimension = fc.constantFrom<RollupDimension>('webhook_id', 'event_type', 'outcome');
    const query = fc.record({ accountId, ...range, data, type: optional(fc.constantFrom(...types)) });
    let found = 0;
    const property = fc.asyncProperty(query, span, dimension, async (asked, part, by) => {
      found += (await both(({ history }) => history.listEvents(asked, part))).entries.length;
      const { since = FIRST, until = FIRST + DAYS * DAY_MS } = asked;
      found += (await both(({ history }) => history.walkDeliveries({ ...asked, since, until }, part))).entries
        .length;
      await both(({ history }) => history.walkEvents({ ...asked, since, until }, part));
      const rollups = {
        accountId: asked.accountId,
        grain: '1h',
        dimension: by,
        since,
        until,
        limit: 500,
        recent: events
          .slice(0, 30)
          .flatMap(({ id: eventId, createdAt, head, deliveries }) =>
            deliveries.map(({ endpointId }) => ({ eventId, createdAt, endpointId, type: head.type })),
          ),
      } as const;
      found += (await both(({ database }) => new PgRollups(database).read(rollups))).rollups.length;
    });
    await fc.assert(property, { numRuns: 30 });
    expect(found).toBeGreaterThan(0);
  });

  it('find each event and delivery', async () => {
    for (const { accountId: owner, id, createdAt, deliveries } of events.slice(0, 25)) {
      const keys = deliveries.map(({ endpointId }) => ({ eventId: id, createdAt, endpointId }));
      expect(await both(({ history }) => history.findEvent(owner, id))).toMatchObject({ id });
      await both(({ history }) => history.countDeliveries(owner, id));
      expect(await both(({ history }) => history.readForRehydration(owner, keys))).toHaveLength(
        keys.length ? 1 : 0,
      );
      await both(({ history }) => history.readStates(owner, keys));
      for (const key of keys) await both(({ history }) => history.findDelivery(owner, key));
    }
    for (const bytes of await both(({ database }) => readBytes(database, accounts))) {
      expect(bytes).toBeGreaterThan(0);
    }
  });

  it('are read in the order of their indexes, of the part of the account alone', async () => {
    const plans: string[] = [];
    const explaining = {
      read: async (query: NamedQuery) => {
        if (query.name === 'read-retentions') return await split.database.read(query);
        const { text, values } = query;
        const explained = `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${text}`;
        const rows = await split.database.read<Record<string, string>>({ name: '', text: explained, values });
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return [];
      },
    };
    const history = new PgHistory(explaining as unknown as PgDatabase);
    await history.listDeliveries({ accountId: accounts[0] }, { limit: 10 });
    await history.listDeliveries({ accountId: accounts[0], endpointId: endpoints[0] }, { limit: 10 });
    await history.listEvents({ accountId: accounts[0] }, { limit: 10 });
    for (const plan of plans) {
      const read = plan.split('\n').filter((line) => !line.includes('never executed'));
      const parts = read.flatMap((line) => line.match(/ on webhook_\w+_k\d+_\d+_(\d)/)?.[1] ?? []);
      expect(new Set(parts).size).toBe(1);
      expect(plan).not.toContain('Seq Scan');
      expect(plan).toContain('Incremental Sort');
    }
    // Three lists, of two retentions.
    expect(plans).toHaveLength(6);
  });

  it('are erased: a payload, and an account', async () => {
    const erased = events.slice(0, 10);
    for (const { accountId: owner, id } of erased) {
      // PostgreSQL gives them in no order.
      const concerned = await both(async ({ database }) => {
        return (await erasePayload(database, owner, id, FIRST + 1))?.endpointIds.toSorted();
      });
      expect(concerned).toBeDefined();
    }
    expect(await rowsOf(split)).toEqual(await rowsOf(whole));
    const [owner] = accounts;
    for (const side of [whole, split]) while ((await eraseAccount(side.database, owner, 50)) > 0);
    expect(await rowsOf(split)).toEqual(await rowsOf(whole));
    for (const table of TABLES) {
      expect(await split.query(`SELECT FROM ${table} WHERE account_id = $1`, [owner])).toEqual([]);
    }
  });

  it('go with all their parts when they are over', async () => {
    const dropped = await both(async ({ database }) => {
      const { done: names } = await dropDays(database, FIRST + 9 * DAY_MS);
      return names.filter((name) => !name.endsWith('20261124')).toSorted();
    });
    expect(dropped).toEqual(
      TABLES.flatMap((table) => [`${table}_k7_20261120`, `${table}_k7_20261121`]).toSorted(),
    );
    expect(await split.query(`SELECT relname FROM pg_class WHERE relname ~ '_k7_2026112[01]'`)).toEqual([]);
    expect(await rowsOf(split)).toEqual(await rowsOf(whole));
  });
});
