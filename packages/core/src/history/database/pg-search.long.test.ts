import type { MovedEvent } from '../../domain/moved-event';
import { buildMovedDelivery, buildMovedEvent } from '../../testing/build-moved-event';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { createSeededRandom } from '../../testing/seeded-random';
import { openTestHistory, type TestHistory } from '../../testing/test-history';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import { type ListSpan, newestFirst, type SourceBatch } from '../history-source';
import { DAILY_TABLES, provideDay } from './pg-days';
import { erasePayload } from './pg-erase';
import type { PgHistory } from './pg-history';

if (!hasPostgres) console.warn(`SKIPPED: the search in the history in PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 8, 1);

describePostgres('the search in the history', () => {
  let test: TestHistory;
  let history: PgHistory;
  beforeAll(async () => {
    test = await openTestHistory();
    history = test.history;
  });
  afterAll(() => test.close());

  const write = (events: readonly MovedEvent[]) => test.write(events);

  const found = async ({ accountId }: Pick<MovedEvent, 'accountId'>, data: string, change = {}) => {
    const { entries } = await history.listEvents({ accountId, data, ...change }, { limit: 1_000 });
    return entries.map(({ row }) => row?.id);
  };

  it.each([
    ['{}', true],
    ['{"order":{"id":4711}}', true],
    ['{"order":{"id":4711.0}}', true],
    ['{"order":{"id":"4711"}}', false],
    ['{"order":{}}', true],
    ['{"id":4711}', false],
    ['{"tags":["b"]}', true],
    ['{"tags":["b","a"],"big":9007199254740993}', true],
    ['{"big":9007199254740992}', false],
    ['{"tags":"b"}', false],
    ['{"none":null}', true],
    ['{"other":null}', false],
    ['{"text":"\\u00e9 \\"x\\""}', true],
    ['{"a":"\\u0000"}', false],
    ['{"a":"\\ud800"}', false],
    ['4711', true],
    ['4711.0', true],
    ['"4711"', false],
    ['"b"', true],
    ['"tags"', false],
    ['"é \\"x\\""', true],
    ['9007199254740993', true],
    ['9007199254740992', false],
    ['77', true],
    ['"77"', true],
    ['1e99999', false],
    ['"\\u0000"', false],
  ])('says of %s: %s', async (data, isFound) => {
    const dataText =
      '{ "order": {"id": 4711, "more": 1}, "tags": ["a","b"], "none":null, "big": 9007199254740993, "text": "é \\"x\\"", "as": ["77"] }';
    const event = buildMovedEvent({ dataText });
    await write([event]);
    expect(await found(event, data)).toEqual(isFound ? [event.id] : []);
  });

  it('finds nothing of other accounts, and nothing that was erased or that the search can not have', async () => {
    const event = buildMovedEvent({ dataText: '{"a":1}' });
    await write([event, buildMovedEvent({ accountId: event.accountId, dataText: '{"a":1,"b":"\\u0000"}' })]);
    expect(await found(event, '{"a":1}')).toEqual([event.id]);
    expect(await found({ accountId: uniqueAccountId() }, '{"a":1}')).toEqual([]);
    await erasePayload(test.database, event.accountId, event.id, 1);
    expect(await found(event, '{"a":1}')).toEqual([]);
  });

  it('ends a page behind some megabytes, goes on, and reads by connections of its own', async () => {
    const accountId = uniqueAccountId();
    const events = Array.from({ length: 20 }, (_, i) =>
      buildMovedEvent({
        accountId,
        createdAt: FIRST + i,
        dataText: `{"is":{"no${i}":{}},"a":[${'[],'.repeat(80_000)}[1]]}`,
        deliveries: [buildMovedDelivery()],
      }),
    );
    for (let i = 0; i < events.length; i += 10) await write(events.slice(i, i + 10));
    const read = jest.spyOn(test.database, 'read');
    for (const list of ['listEvents', 'listDeliveries'] as const) {
      const pages: (readonly string[])[] = [];
      let after: ListSpan['after'];
      do {
        // No index knows it.
        const data = '{"is":{"no3":{}}}';
        const page: SourceBatch<unknown> = await history[list]({ accountId, data }, { limit: 50, after });
        pages.push(page.entries.map(({ mark }) => mark.eventId));
        after = page.nextCursor;
      } while (after !== undefined);
      expect(pages.flat()).toEqual([events[3]?.id]);
    }
    expect(read).not.toHaveBeenCalled();
    read.mockRestore();
    // No page looks at all of them.
    const query = { accountId, data: '{"none":{}}' };
    const { entries, endsPage, nextCursor } = await history.listEvents(query, { limit: 50 });
    expect([entries, endsPage]).toEqual([[], true]);
    expect(events.findIndex(({ id }) => id === nextCursor?.eventId)).toBeGreaterThan(0);
  });

  it('searches one page of an account at a time, and refuses many', async () => {
    const event = buildMovedEvent({ dataText: '{"a":1}' });
    await write([event]);
    const scan = test.database.scan.bind(test.database);
    const atOnce = { now: 0, most: 0 };
    const watched = jest.spyOn(test.database, 'scan').mockImplementation(async (query) => {
      atOnce.now += 1;
      atOnce.most = Math.max(atOnce.most, atOnce.now);
      return await scan<never>(query).finally(() => {
        atOnce.now -= 1;
      });
    });
    const searches = Array.from({ length: 40 }, () => found(event, '{"a":1}'));
    const ended = await Promise.allSettled(searches);
    const refused = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    expect(refused).toEqual(
      Array.from({ length: 7 }, () => expect.objectContaining({ code: 'rate_limited' }) as unknown),
    );
    expect(atOnce).toEqual({ now: 0, most: 1 });
    watched.mockRestore();
    expect(await found(event, '{"a":1}')).toEqual([event.id]);
  });

  describe('in a long history', () => {
    const random = createSeededRandom(11);
    const accountId = uniqueAccountId();
    const endpointIds = [uniqueEndpointId(), uniqueEndpointId()];
    const events = Array.from({ length: 2_000 }, (_, i) =>
      buildMovedEvent({
        accountId,
        createdAt: FIRST + Math.floor(random() * 60) * (DAY_MS / 2),
        keepDays: random() < 0.2 ? 30 : 90,
        head: { type: random() < 0.5 ? 'a.b' : 'c.d', isAimed: false },
        dataText: JSON.stringify({ order: { id: i }, rare: i % 400, common: i % 2 }),
        deliveries: endpointIds.filter(() => random() < 0.7).map((id) => buildMovedDelivery(id)),
      }),
    );
    const placeOf = ({ id: eventId, createdAt }: MovedEvent) => ({ eventId, createdAt });
    const inOrder = events.toSorted((a, b) => newestFirst(placeOf(a), placeOf(b)));
    const dataOf = ({ dataText = '{}' }: MovedEvent) =>
      JSON.parse(dataText) as {
        readonly order: { readonly id: number };
        readonly rare: number;
        readonly common: number;
      };

    beforeAll(async () => {
      for (let i = 0; i < events.length; i += 500) await write(events.slice(i, i + 500));
      await test.server.query('ANALYZE');
    });

    it('asks no index for a value at any place, and finds all that have it', async () => {
      const search = jest.spyOn(test.database, 'search');
      const wanted = inOrder.filter((event) => [dataOf(event).order.id, dataOf(event).rare].includes(399));
      expect(await found({ accountId }, '399')).toEqual(wanted.map(({ id }) => id));
      expect(search).not.toHaveBeenCalled();
      search.mockRestore();
    });

    it('finds the one event, wherever it is', async () => {
      for (const event of [inOrder[0], inOrder[499], inOrder[500], inOrder[1_234], inOrder[1_999]]) {
        const data = JSON.stringify({ order: { id: event && dataOf(event).order.id } });
        expect(await found({ accountId }, data)).toEqual([event?.id]);
      }
    });

    it.each(['{"rare":7}', '{"common":1}', '{"rare":8,"common":0}', '{"rare":8,"common":1}'])(
      'pages through all that contain %s',
      async (data) => {
        const pattern = Object.entries(JSON.parse(data) as Record<string, number>);
        const isMatch = (event: MovedEvent) =>
          pattern.every(([name, value]) => dataOf(event)[name as 'rare'] === value);
        const expected = inOrder
          .filter((event) => isMatch(event) && event.head.type === 'a.b')
          .map(({ id }) => id);
        const pages: string[] = [];
        let after: Parameters<PgHistory['listEvents']>[1]['after'];
        do {
          const page = await history.listEvents({ accountId, data, type: 'a.b' }, { limit: 7, after });
          pages.push(...page.entries.map(({ mark }) => mark.eventId));
          after = page.nextCursor;
        } while (after !== undefined);
        expect(pages).toEqual(expected);
      },
    );

    it('looks at all one by one where the index takes too long', async () => {
      const search = jest.spyOn(test.database, 'search').mockResolvedValue(undefined);
      const rare = inOrder.filter((event) => dataOf(event).rare === 7).map(({ id }) => id);
      expect(await found({ accountId }, '{"rare":7}')).toEqual(rare);
      expect(search).toHaveBeenCalled();
      search.mockRestore();
    });

    it('finds deliveries by the data of their events, with other filters, within a span of time', async () => {
      const [endpointId] = endpointIds;
      const [since, until] = [FIRST + 5 * DAY_MS, FIRST + 25 * DAY_MS];
      const expected = inOrder
        .filter((event) => dataOf(event).rare === 9 && event.createdAt >= since && event.createdAt < until)
        .filter(({ deliveries }) => deliveries.some((delivery) => delivery.endpointId === endpointId))
        .map(({ id }) => id);
      const query = { accountId, endpointId, since, until, data: '{"rare":9}' } as const;
      const { entries } = await history.listDeliveries(query, { limit: 100 });
      expect(entries.map(({ row }) => row?.eventId)).toEqual(expected);
      expect(entries.map(({ row }) => row?.status)).toEqual(expected.map(() => 'delivered'));
      const all = await history.listDeliveries({ accountId, data: '{"rare":9}' }, { limit: 100 });
      const both = inOrder
        .filter((event) => dataOf(event).rare === 9)
        .flatMap(({ deliveries }) => deliveries);
      expect(all.entries).toHaveLength(both.length);
    });

    it('ends where it is to end', async () => {
      const last = inOrder[1_000];
      const expected = inOrder
        .slice(0, 1_001)
        .filter((event) => dataOf(event).rare === 3)
        .map(({ id }) => id);
      const span = { limit: 100, last: last && placeOf(last) };
      const { entries, nextCursor } = await history.listEvents({ accountId, data: '{"rare":3}' }, span);
      expect(entries.map(({ mark }) => mark.eventId)).toEqual(expected);
      expect(nextCursor).toBeUndefined();
    });
  });

  describe('where much is common', () => {
    const accountId = uniqueAccountId();
    const endpointId = uniqueEndpointId();
    const PER_DAY = 4_000;
    const DAYS = 3;
    // In the order of lists.
    const all = Array.from({ length: PER_DAY * DAYS }, (_, i) => i).toReversed();
    const idOf = (i: number) => `evt_${String(i).padStart(9, '0')}`;

    beforeAll(async () => {
      for (let day = 0; day < DAYS; day += 1) {
        const date = new Date(FIRST + (100 + day) * DAY_MS).toISOString().slice(0, 10);
        await provideDay(test.database, DAILY_TABLES, { keepDays: 90, date });
      }
      await test.server.query(
        `INSERT INTO webhook_events (accepted_at, keep_days, is_aimed, is_searchable, account_id, event_id, type, data)
         SELECT $1::timestamptz + i * interval '21.6 s', 90, false, true, $2, 'evt_' || lpad(i::text, 9, '0'),
           CASE i % 2 WHEN 0 THEN 'even.one' ELSE 'odd.one' END,
           format('{"order":{"id":%s},"half":%s,"third":%s}', i, i % 2, i % 3)
         FROM generate_series(0, $3::int - 1) AS i`,
        [new Date(FIRST + 100 * DAY_MS), accountId, all.length],
      );
      await test.server.query(
        `INSERT INTO webhook_deliveries (accepted_at, delivery_key, status, keep_days, attempt_count, account_id,
           event_id, webhook_id, type, other_lines)
         SELECT accepted_at, hashtextextended(event_id, 0),
           (CASE right(event_id, 9)::int % 7 WHEN 0 THEN 'exhausted' ELSE 'delivered' END)::webhook_status, keep_days, 1,
           account_id, event_id, $2, type, ''
         FROM webhook_events WHERE account_id = $1`,
        [accountId, endpointId],
      );
      await test.server.query('ANALYZE');
    });

    async function pagesOf(readPage: (span: ListSpan) => Promise<SourceBatch<unknown>>) {
      const pages: (readonly string[])[] = [];
      let after: ListSpan['after'];
      do {
        const { entries, nextCursor } = await readPage({ limit: 200, after });
        pages.push(entries.map(({ mark }) => mark.eventId));
        after = nextCursor;
      } while (after !== undefined);
      return pages;
    }

    it('finds a rare one on its first page, however old it is', async () => {
      const [i = 0] = all.slice(-3);
      const data = `{"order":{"id":${i}}}`;
      const span = { limit: 50 };
      const page = await history.listEvents({ accountId, data, type: 'even.one' }, span);
      expect([page.entries.map(({ mark }) => mark.eventId), page.nextCursor]).toEqual([[idOf(i)], undefined]);
      const deliveries = await history.listDeliveries({ accountId, data, endpointId }, span);
      expect(deliveries.entries.map(({ mark }) => mark.eventId)).toEqual([idOf(i)]);
    });

    it('ends a page after some work where a common value and a common filter seldom meet, and goes on', async () => {
      const none = await pagesOf((span) =>
        history.listEvents({ accountId, data: '{"half":0}', type: 'odd.one' }, span),
      );
      expect(none.length).toBeGreaterThan(1);
      expect(none.flat()).toEqual([]);
      const some = await pagesOf((span) =>
        history.listDeliveries({ accountId, data: '{"half":1,"third":2}', status: 'exhausted' }, span),
      );
      expect(some.flat()).toEqual(all.filter((i) => i % 6 === 5 && i % 7 === 0).map(idOf));
    });

    it.each([{}, { status: 'exhausted' }, { endpointId }] as const)(
      'reads by indexes alone, with the filter %j',
      async (filter) => {
        const asked = {
          scan: jest.spyOn(test.database, 'scan'),
          search: jest.spyOn(test.database, 'search'),
        };
        for (const data of ['{"order":{"id":-1}}', '{"order":{"id":1}}', '{"half":1}']) {
          await history.listDeliveries({ accountId, data, ...filter }, { limit: 10 });
          await history.listEvents({ accountId, data }, { limit: 10 });
        }
        const plansOf = async (kind: 'scan' | 'search') => {
          const queries = asked[kind].mock.calls.map(([query]) => query);
          asked[kind].mockRestore();
          return await Promise.all(
            queries.map(async ({ text, values }) => {
              const explained = { name: '', text: `EXPLAIN ${text}`, values };
              const rows = await test.database[kind]<Record<string, string>>(explained);
              return rows?.map((row) => row['QUERY PLAN']).join('\n');
            }),
          );
        };
        const [lists, searches] = [await plansOf('scan'), await plansOf('search')];
        expect([lists.length > 0, searches.length > 0]).toEqual([true, true]);
        for (const plan of [...lists, ...searches]) expect(plan).not.toContain('Seq Scan');
        for (const plan of searches)
          expect(plan).toMatch(/Bitmap Index Scan on webhook_events_k\d+_\d+_jsonb_idx/);
      },
    );

    it('asks no index for what has no value', async () => {
      const search = jest.spyOn(test.database, 'search');
      expect(
        (await pagesOf((span) => history.listEvents({ accountId, data: '{"x":{}}' }, span))).flat(),
      ).toEqual([]);
      expect(search).not.toHaveBeenCalled();
      search.mockRestore();
      const orders = await pagesOf((span) => history.listEvents({ accountId, data: '{"order":{}}' }, span));
      expect(orders.flat()).toEqual(all.map(idOf));
    });
  });
});
