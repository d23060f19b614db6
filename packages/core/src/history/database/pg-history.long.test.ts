import * as fc from 'fast-check';
import type { AttemptFilter, AttemptOutcome } from '../../domain/attempt';
import { type DeliveryFact, encodeFact } from '../../domain/delivery-fact';
import { countAttempts, readLog, readSummary } from '../../domain/delivery-log';
import type { EndpointId } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import type { MovedDelivery, MovedEvent } from '../../domain/moved-event';
import { buildAttempt } from '../../testing/build-attempt';
import { buildMovedDelivery, buildMovedEvent } from '../../testing/build-moved-event';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { createSeededRandom } from '../../testing/seeded-random';
import { openTestHistory, readLogs, type TestHistory } from '../../testing/test-history';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { matchesFilter, type RecordFilter, statusClasses } from '../delivery-standings';
import {
  type DeliveryKey,
  type DeliveryQuery,
  type ListMark,
  newestFirst,
  oldestFirst,
} from '../history-source';
import { type NamedQuery, PgDatabase } from './pg-database';
import { PgHistory } from './pg-history';

if (!hasPostgres) console.warn(`SKIPPED: the history in PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 10, 20);
const ATTEMPTED = [FIRST, FIRST + 1, FIRST + DAY_MS, FIRST + 2 * DAY_MS];

describePostgres('the history in PostgreSQL', () => {
  let test: TestHistory;
  let history: PgHistory;
  beforeAll(async () => {
    test = await openTestHistory();
    history = test.history;
  });
  afterAll(() => test.close());

  const write = (...events: readonly MovedEvent[]) => test.write(events);

  describe('single records', () => {
    it('gives an event as it came, byte for byte', async () => {
      const dataText = '{ "n": 1.0, "big": 9007199254740993, "é": "\\u0000\\ud800 🚀" }';
      const trace = {
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        spanId: '00f067aa0ba902b7',
        isSampled: true,
      };
      const requestId = 'req_1';
      const event = buildMovedEvent({ dataText, head: { type: 'a.b', isAimed: true, trace, requestId } });
      await write(event);
      expect(await history.findEvent(event.accountId, event.id)).toEqual({
        id: event.id,
        accountId: event.accountId,
        type: 'a.b',
        acceptedAt: event.createdAt,
        body: `{"type":"a.b","data":${dataText}}`,
        trace,
        requestId,
      });
      const { entries } = await history.listEvents({ accountId: event.accountId }, { limit: 1 });
      expect(entries).toMatchObject([{ row: { id: event.id, requestId } }]);
      const head = { type: 'a.b', acceptedAt: event.createdAt, isAimed: true, trace, requestId };
      const place = { eventId: event.id, createdAt: event.createdAt };
      expect(await history.readHeads(event.accountId, [place])).toEqual([head]);
      const unknown = uniqueEventId();
      expect(await history.readHeads(event.accountId, [{ eventId: unknown }, { eventId: event.id }])).toEqual(
        [undefined, head],
      );
    });

    it('gives an erased event without its payload', async () => {
      const erasedAt = 1_700_000_100_000;
      const event = buildMovedEvent({ dataText: undefined, head: { type: 'a.b', isAimed: false, erasedAt } });
      await write(event);
      const found = await history.findEvent(event.accountId, event.id);
      expect(found).toMatchObject({ erasedAt });
      expect(found).not.toHaveProperty('body');
    });

    it('finds nothing of other accounts', async () => {
      const delivery = buildMovedDelivery();
      const event = buildMovedEvent({ deliveries: [delivery] });
      await write(event);
      const other = uniqueAccountId();
      const key = { eventId: event.id, endpointId: delivery.endpointId, createdAt: event.createdAt };
      expect(await history.findEvent(other, event.id)).toBeUndefined();
      expect(await history.findDelivery(other, key)).toBeUndefined();
      expect(await readLogs(history, other, [key])).toEqual([undefined]);
      expect(await history.readForRehydration(other, [key])).toEqual([]);
      expect((await history.countDeliveries(other, event.id)).total).toBe(0);
    });

    it('gives what it takes to send deliveries again', async () => {
      const endpointIds = [uniqueEndpointId(), uniqueEndpointId(), uniqueEndpointId()];
      const deliveries = endpointIds.map((id) => buildMovedDelivery(id));
      const event = buildMovedEvent({ deliveries });
      await write(event);
      const keys = deliveries
        .slice(1)
        .map(({ endpointId }) => ({ eventId: event.id, endpointId, createdAt: event.createdAt }));
      const [rehydrated, ...others] = await history.readForRehydration(event.accountId, keys);
      const head = { ...event.head, acceptedAt: event.createdAt };
      const inOrder = deliveries.slice(1).toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1));
      expect({
        ...rehydrated,
        deliveries: rehydrated?.deliveries.toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1)),
      }).toEqual({ ...event, head, deliveries: inOrder });
      expect(others).toEqual([]);
    });

    it('gives what it takes to send an event to somebody who has not got it', async () => {
      const event = buildMovedEvent({ deliveries: [buildMovedDelivery()] });
      await write(event);
      const key = { eventId: event.id, endpointId: uniqueEndpointId(), createdAt: event.createdAt };
      const [rehydrated, ...others] = await history.readForRehydration(event.accountId, [key]);
      expect(rehydrated).toMatchObject({ id: event.id, dataText: event.dataText, deliveries: [] });
      expect(others).toEqual([]);
      const another = { ...key, createdAt: event.createdAt + 1 };
      expect(await history.readForRehydration(event.accountId, [another])).toEqual([]);
    });

    it('counts the deliveries of several events of a list, also of those that it does not have', async () => {
      const [one, other] = [
        buildMovedEvent({ deliveries: [buildMovedDelivery(), buildMovedDelivery()] }),
        buildMovedEvent({ deliveries: [buildMovedDelivery()] }),
      ];
      await write(one);
      await write({ ...other, accountId: one.accountId });
      const marks = [other, one].map(({ id: eventId, createdAt }) => ({ eventId, createdAt }));
      const unknown = { eventId: uniqueEventId(), createdAt: one.createdAt };
      const counts = await history.countEach(one.accountId, [...marks, unknown]);
      expect(counts.map((each) => [each?.total, each?.delivered])).toEqual([
        [1, 1],
        [2, 2],
        [0, 0],
      ]);
    });

    it('counts the deliveries of an event by their status', async () => {
      const failed = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: undefined } as const;
      const deliveries = [
        buildMovedDelivery(),
        buildMovedDelivery(),
        buildMovedDelivery(undefined, [failed]),
      ];
      const event = buildMovedEvent({ deliveries });
      await write(event);
      expect(await history.countDeliveries(event.accountId, event.id)).toEqual({
        total: 3,
        pending: 0,
        held: 0,
        delivered: 2,
        exhausted: 1,
        aborted: 0,
        cancelled: 0,
        superseded: 0,
      });
    });
  });

  describe('lists', () => {
    const random = createSeededRandom(31);
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
    const accountId = uniqueAccountId();
    const endpointIds = Array.from({ length: 4 }, uniqueEndpointId);
    const types = ['a.b', 'c.d'];
    const outcomes: readonly AttemptOutcome[] = ['delivered', 'http_4xx', 'http_5xx', 'dns_error'];
    const events: MovedEvent[] = [];

    function randomDelivery(endpointId: EndpointId): MovedDelivery {
      const outcome = pick(outcomes);
      const { responseStatus: _none, ...noAnswer } = buildAttempt();
      const answers = { delivered: [200, 201, 204], http_4xx: [404, 410], http_5xx: [500] };
      const answer =
        outcome in answers ? { responseStatus: pick(answers[outcome as keyof typeof answers]) } : {};
      const before = Array.from({ length: Math.floor(random() * 3) }, (_, i): DeliveryFact => {
        const attempt = buildAttempt({
          number: i + 1,
          startedAt: pick(ATTEMPTED),
          outcome: pick(['http_5xx', 'tls_error']),
        });
        return { kind: 'attempted', attempt, nextAttemptAt: FIRST };
      });
      const attempted: DeliveryFact = {
        kind: 'attempted',
        attempt: { ...noAnswer, number: before.length + 1, startedAt: pick(ATTEMPTED), outcome, ...answer },
        nextAttemptAt: undefined,
        isAborted: outcome !== 'delivered' && random() < 0.3,
      };
      const cancelled: DeliveryFact = { kind: 'cancelled', reason: 'gone' };
      const log = [...before, random() < 0.1 ? cancelled : attempted].map(encodeFact).join('');
      return { endpointId, log };
    }

    beforeAll(async () => {
      for (let i = 0; i < 200; i += 1) {
        events.push(
          buildMovedEvent({
            accountId,
            // Many at the same time, over days and kept for different times.
            createdAt: FIRST + Math.floor(random() * 40) * (DAY_MS / 10),
            head: { type: pick(types), isAimed: false },
            keepDays: random() < 0.3 ? 7 : 90,
            deliveries: endpointIds.filter(() => random() < 0.6).map(randomDelivery),
          }),
        );
      }
      await write(...events);
    });

    const standings = (wanted?: AttemptFilter) =>
      events.flatMap(({ id: eventId, createdAt, head, deliveries }) =>
        deliveries.map(({ endpointId, log }) => {
          const { status, attemptCount, lastOutcome, lastResponseStatus } = readSummary(log);
          const matchingAttempts = wanted && countAttempts(log, wanted);
          const nextAttemptAt = undefined;
          return {
            createdAt,
            eventId,
            endpointId,
            type: head.type,
            status,
            attemptCount,
            lastOutcome,
            lastResponseStatus,
            nextAttemptAt,
            matchingAttempts,
          };
        }),
      );
    const markOf = ({ createdAt, eventId, endpointId }: DeliveryKey) => ({ createdAt, eventId, endpointId });

    const time = fc.nat(41).map((tenths) => FIRST + (tenths - 1) * (DAY_MS / 10));
    const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
    const mark: fc.Arbitrary<ListMark> = fc.tuple(fc.nat(199), fc.nat(4)).map(([event, endpoint]) => ({
      createdAt: events[event]?.createdAt ?? 0,
      eventId: events[event]?.id as EventId,
      endpointId: endpointIds[endpoint],
    }));
    const span = fc.record({
      limit: fc.integer({ min: 1, max: 60 }),
      after: optional(mark),
      last: optional(mark),
    });
    const range = { since: optional(time), until: optional(time) };

    const within = (
      { since = 0, until = Infinity }: { since?: number | undefined; until?: number | undefined },
      at: number,
    ) => at >= since && at < until;

    it('gives what a plain array gives, by any filter from any mark', async () => {
      const query = fc.record({
        ...range,
        endpointId: optional(fc.constantFrom(...endpointIds)),
        event: optional(fc.nat(199)),
        eventType: optional(fc.constantFrom(...types)),
        status: optional(
          fc.constantFrom<NonNullable<RecordFilter['status']>>(
            'delivered',
            'exhausted',
            'aborted',
            'cancelled',
            'pending',
            'held',
          ),
        ),
        outcome: optional(fc.constantFrom(...outcomes)),
        responseStatus: optional(fc.constantFrom(200, 201, 404, 418)),
        statusClass: optional(fc.constantFrom(...statusClasses)),
        attempts: optional(
          fc.record({
            since: optional(fc.constantFrom(...ATTEMPTED)),
            until: optional(fc.constantFrom(...ATTEMPTED)),
            outcomes: optional(
              fc.uniqueArray(fc.constantFrom(...outcomes, 'tls_error' as const), { minLength: 1 }),
            ),
          }),
        ),
        data: fc.constantFrom(undefined, undefined, '{}', '{"keyword":"shoes"}', '{"n":2}'),
      });
      await fc.assert(
        fc.asyncProperty(query, span, async ({ event, ...filter }, { limit, after, last }) => {
          const eventId = event === undefined ? undefined : events[event]?.id;
          const asked: DeliveryQuery = { accountId, ...filter, eventId };
          const expected = standings(filter.attempts)
            .filter(() => filter.data !== '{"n":2}')
            .filter((one) => filter.endpointId === undefined || one.endpointId === filter.endpointId)
            .filter((one) => eventId === undefined || one.eventId === eventId)
            .filter((one) => filter.eventType === undefined || one.type === filter.eventType)
            .filter((one) => within(filter, one.createdAt) && matchesFilter(one, filter))
            .filter((one) => after === undefined || newestFirst(after, one) < 0)
            .filter((one) => last === undefined || newestFirst(one, last) <= 0)
            .toSorted(newestFirst);
          const { entries, nextCursor } = await history.listDeliveries(asked, { limit, after, last });
          expect(entries.map(({ row }) => row)).toEqual(expected.slice(0, limit));
          expect(entries.map((entry) => entry.mark)).toEqual(expected.slice(0, limit).map(markOf));
          expect(nextCursor !== undefined || expected.length <= limit).toBe(true);
        }),
        { numRuns: 200 },
      );
    });

    it('looks for attempts a part at a time, and leaves out nothing between two parts', async () => {
      const hasty = new PgHistory(test.database, 7);
      const attempts = { since: ATTEMPTED[2], outcomes: ['tls_error', 'dns_error'] as const };
      const expected = standings(attempts)
        .filter((one) => matchesFilter(one, { attempts }))
        .toSorted(newestFirst);
      const found: unknown[] = [];
      let parts = 0;
      for (let after: ListMark | undefined, isFirst = true; isFirst || after; isFirst = false) {
        const batch = await hasty.listDeliveries({ accountId, attempts }, { limit: 3, after });
        found.push(...batch.entries.flatMap(({ row }) => row ?? []));
        parts += 1;
        after = batch.nextCursor;
      }
      expect(found).toEqual(expected);
      expect(parts).toBeGreaterThan(standings().length / 14);
    });

    it('goes through deliveries and events, oldest first', async () => {
      const query = fc.record({
        ...range,
        endpointId: optional(fc.constantFrom(...endpointIds)),
        isUndelivered: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(query, span, async (asked, { limit, after, last }) => {
          const expected = standings()
            .filter((one) => asked.endpointId === undefined || one.endpointId === asked.endpointId)
            .filter((one) => !asked.isUndelivered || one.status !== 'delivered')
            .filter((one) => within(asked, one.createdAt))
            .filter((one) => after === undefined || oldestFirst(after, one) < 0)
            .filter((one) => last === undefined || oldestFirst(one, last) <= 0)
            .toSorted(oldestFirst);
          const walked = await history.walkDeliveries({ accountId, ...asked }, { limit, after, last });
          expect(walked.entries.map(({ row }) => row)).toEqual(
            expected.slice(0, limit).map((one) => ({ ...markOf(one), type: one.type })),
          );
        }),
        { numRuns: 100 },
      );
      const all = await history.walkEvents({ accountId }, { limit: 1_000 });
      const inOrder = events.map(({ createdAt, id }) => ({ createdAt, eventId: id })).toSorted(oldestFirst);
      expect(all).toEqual({
        entries: inOrder.map((one) => ({ mark: one, row: one })),
        nextCursor: undefined,
      });
    });

    it('lists events with the number of their deliveries', async () => {
      const query = fc.record({ ...range, type: optional(fc.constantFrom(...types)) });
      await fc.assert(
        fc.asyncProperty(query, span, async (asked, { limit, after, last }) => {
          const place = (one: MovedEvent) => ({ createdAt: one.createdAt, eventId: one.id });
          const whole = (one: ListMark | undefined) =>
            one && { createdAt: one.createdAt, eventId: one.eventId };
          const [from, to] = [whole(after), whole(last)];
          const expected = events
            .filter((one) => asked.type === undefined || one.head.type === asked.type)
            .filter((one) => within(asked, one.createdAt))
            .filter((one) => from === undefined || newestFirst(from, place(one)) < 0)
            .filter((one) => to === undefined || newestFirst(place(one), to) <= 0)
            .toSorted((a, b) => newestFirst(place(a), place(b)));
          const { entries } = await history.listEvents(
            { accountId, ...asked },
            { limit, after: from, last: to },
          );
          expect(entries.map(({ row }) => row)).toEqual(
            expected.slice(0, limit).map(({ id, createdAt, head, deliveries }) => ({
              id,
              createdAt,
              type: head.type,
              deliveryCount: deliveries.length,
            })),
          );
        }),
        { numRuns: 100 },
      );
    });

    it('gives the whole log of each of many deliveries at once', async () => {
      const some = events
        .slice(0, 100)
        .flatMap(({ id, createdAt, deliveries }) =>
          deliveries.map(({ endpointId, log }) => ({ key: { eventId: id, createdAt, endpointId }, log })),
        );
      const logs = await readLogs(
        history,
        accountId,
        some.map(({ key }) => key),
      );
      expect(logs).toEqual(some.map(({ log }) => log));
      const states = await history.readStates(
        accountId,
        some.map(({ key }) => key),
      );
      expect(states).toEqual(some.map(({ log }) => readLog(log)));
    });

    it('gives one delivery with its attempts', async () => {
      const {
        id: eventId,
        createdAt,
        deliveries,
      } = events.find((one) => one.deliveries.length > 0) ?? pick(events);
      const [{ endpointId, log } = randomDelivery(uniqueEndpointId())] = deliveries;
      const found = await history.findDelivery(accountId, { eventId, endpointId });
      expect(found).toEqual({ eventId, createdAt, ...readLog(log) });
    });

    it.each([
      ['all', {}, 'accepted_at'],
      ['of a webhook', { endpointId: uniqueEndpointId() }, 'hashtext(webhook_id)'],
      ['of a type', { eventType: 'a.b' }, 'hashtext(type)'],
      ['exhausted', { status: 'exhausted' }, 'status ='],
      ['by outcome', { outcome: 'dns_error' }, 'last_outcome ='],
      ['by status class', { statusClass: '5xx' }, '/ 100'],
      ['without an answer', { statusClass: 'none' }, '/ 100'],
      ['by response status', { responseStatus: 418 }, 'response_status ='],
    ] as const)('takes its page in the order of an index: %s', async (_what, filter, condition) => {
      const { plans, explained } = openExplained();
      await explained.listDeliveries({ accountId, ...filter }, { limit: 10 });
      // One for each retention.
      expect(plans).toHaveLength(2);
      for (const plan of plans) {
        expect(plan).toContain('Incremental Sort');
        expect(plan).not.toContain('Seq Scan');
        expect(plan).not.toMatch(/-> +Sort/);
        expect(plan.match(/Index Cond: .*/)?.[0]).toContain(condition);
      }
    });

    it('leaves out the days that are not asked for', async () => {
      const { plans, explained } = openExplained();
      await explained.listDeliveries({ accountId, since: FIRST, until: FIRST + 1 }, { limit: 10 });
      const read = plans
        .flatMap((plan) => plan.split('\n'))
        .filter((line) => !line.includes('never executed'));
      const days = read.flatMap((line) => line.match(/on webhook_deliveries_(k\d+_\d+)/)?.[1] ?? []);
      expect(days.toSorted()).toEqual(['k7_20261120', 'k90_20261120']);
    });

    function openExplained() {
      const plans: string[] = [];
      class Explained extends PgDatabase {
        override async read<Row>(query: NamedQuery): Promise<readonly Row[]> {
          if (query.name === 'read-retentions') return await super.read(query);
          const text = `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${query.text}`;
          const rows = await super.read<Record<string, string>>({ ...query, name: '', text });
          plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
          return [];
        }
      }
      const database = new Explained({
        url: test.server.url,
        applicationName: 'test',
        readers: 1,
        writers: 1,
      });
      opened.push(database);
      return { plans, explained: new PgHistory(database) };
    }
    const opened: PgDatabase[] = [];
    afterAll(() => Promise.all(opened.map((database) => database.close())));
  });
});
