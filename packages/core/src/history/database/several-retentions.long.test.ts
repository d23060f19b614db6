import * as fc from 'fast-check';
import type { AccountId } from '../../domain/account';
import type { DeliveryFact } from '../../domain/delivery-fact';
import { readSummary } from '../../domain/delivery-log';
import type { MovedEvent } from '../../domain/moved-event';
import { systemClock } from '../../platform/clock';
import { buildAcceptedAttempt, buildAttempt } from '../../testing/build-attempt';
import { buildMovedDelivery, buildMovedEvent } from '../../testing/build-moved-event';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { createSeededRandom } from '../../testing/seeded-random';
import { openTestHistory, readLogs, type TestHistory } from '../../testing/test-history';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { type ListMark, newestFirst, oldestFirst, type SourceBatch } from '../history-source';
import { dropDays } from './pg-days';
import { eraseAccount, erasePayload } from './pg-erase';
import { HistoryWriter } from './pg-history-writer';
import { PgRollups } from './pg-rollups';
import { readBytes } from './pg-usage';

if (!hasPostgres) console.warn(`SKIPPED: accounts with retentions of their own, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 10, 20);
const KEPT = [7, 30, 90, 400];
const NEVER = Number.POSITIVE_INFINITY;

/** An account whose retention was changed several times, and others. */
describePostgres('a history that is kept for several times', () => {
  let test: TestHistory;
  beforeAll(async () => {
    test = await openTestHistory();
  });
  afterAll(() => test.close());

  function attempted(number: number, change: Partial<DeliveryFact> = {}): DeliveryFact {
    const attempt = buildAttempt({ number, startedAt: FIRST + number * 60_000, responseBody: 'no' });
    const type = number === 1 ? { eventType: 'keyword.quick_win' } : {};
    return { kind: 'attempted', attempt, nextAttemptAt: undefined, ...type, ...change } as DeliveryFact;
  }

  async function count(table: string, accountId: AccountId): Promise<number | undefined> {
    const text = `SELECT count(*)::int FROM ${table} WHERE account_id = $1`;
    return (await test.server.query<{ count: number }>(text, [accountId]))[0]?.count;
  }

  async function rolledUp(accountId: AccountId) {
    const all = { grain: '1d', dimension: 'outcome', since: 0, until: FIRST * 2, limit: 1_000 } as const;
    const { rollups } = await new PgRollups(test.database).read({ accountId, ...all, recent: [] });
    return {
      attempts: rollups.reduce((sum, { attempts }) => sum + attempts, 0),
      exhausted: rollups.reduce((sum, { exhausted }) => sum + exhausted, 0),
    };
  }

  const bytesOf = async (accountId: AccountId) => (await readBytes(test.database, [accountId]))[0];

  async function readAll<Row>(read: (after: ListMark | undefined) => Promise<SourceBatch<Row>>) {
    const marks: ListMark[] = [];
    let after: ListMark | undefined;
    do {
      const batch = await read(after);
      marks.push(...batch.entries.map(({ mark }) => mark));
      after = batch.nextCursor;
    } while (after);
    return marks;
  }

  it('is read as one: lists, searches, walks and counts, with any cursor', async () => {
    const random = createSeededRandom(7);
    const accountId = uniqueAccountId();
    const endpoints = [uniqueEndpointId(), uniqueEndpointId()];
    const events = Array.from({ length: 90 }, (_, i) =>
      buildMovedEvent({
        accountId,
        // Some at the same time.
        createdAt: FIRST + Math.floor(random() * 40) * (DAY_MS / 8),
        keepDays: KEPT[i % KEPT.length] ?? 90,
        dataText: `{"n":${i % 3}}`,
        deliveries: endpoints.map((endpoint) => buildMovedDelivery(endpoint)),
      }),
    );
    await test.write(events);
    const ofEvents = events.map(({ id, createdAt }): ListMark => ({ eventId: id, createdAt }));
    const ofDeliveries = ofEvents.flatMap((mark) => endpoints.map((endpointId) => ({ ...mark, endpointId })));
    const { history } = test;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), async (limit) => {
        const query = { accountId };
        const all = {
          events: await readAll((after) => history.listEvents(query, { limit, after })),
          deliveries: await readAll((after) => history.listDeliveries(query, { limit, after })),
          walked: await readAll((after) => history.walkDeliveries(query, { limit, after })),
          ofOne: await readAll((after) =>
            history.listDeliveries({ ...query, endpointId: endpoints[0] }, { limit, after }),
          ),
        };
        expect(all).toEqual({
          events: ofEvents.toSorted(newestFirst),
          deliveries: ofDeliveries.toSorted(newestFirst),
          walked: ofDeliveries.toSorted(oldestFirst),
          ofOne: ofDeliveries.filter(({ endpointId }) => endpointId === endpoints[0]).toSorted(newestFirst),
        });
      }),
      { numRuns: 8 },
    );
    const found = await history.listEvents({ accountId, data: '{"n":1}' }, { limit: 100 });
    const matching = ofEvents.filter((_, i) => i % 3 === 1).toSorted(newestFirst);
    expect(found.entries.map(({ mark }) => mark)).toEqual(matching);
    const [event] = events;
    if (!event) throw new Error('There are some.');
    expect(await history.countDeliveries(accountId, event.id)).toMatchObject({ total: 2, delivered: 2 });
    const listed = await history.listEvents({ accountId }, { limit: 100 });
    expect(new Set(listed.entries.map(({ row }) => row?.deliveryCount))).toEqual(new Set([2]));
    expect(await rolledUp(accountId)).toEqual({ attempts: 180, exhausted: 0 });
  });

  it('has what was sent again once, in its old place, after each change of the retention', async () => {
    const accountId = uniqueAccountId();
    const endpointId = uniqueEndpointId();
    const event = buildMovedEvent({ accountId, createdAt: FIRST });
    const facts: DeliveryFact[] = [];
    for (const [i, keepDays] of KEPT.entries()) {
      facts.push(attempted(i + 1));
      const deliveries = [buildMovedDelivery(endpointId, facts)];
      await test.write([{ ...event, keepDays, deliveries }]);
    }
    const { entries } = await test.history.listDeliveries({ accountId }, { limit: 10 });
    expect(entries.map(({ row }) => row)).toMatchObject([{ endpointId, attemptCount: KEPT.length }]);
    const tables = ['webhook_events', 'webhook_deliveries', 'webhook_attempts', 'webhook_usage'];
    const counts = await Promise.all(tables.map((table) => count(table, accountId)));
    expect(counts).toEqual([1, 1, KEPT.length, 1]);
    expect(await rolledUp(accountId)).toEqual({ attempts: KEPT.length, exhausted: 1 });
    const [log] = await readLogs(test.history, accountId, [
      { eventId: event.id, createdAt: FIRST, endpointId },
    ]);
    expect(readSummary(log ?? '').attemptCount).toBe(KEPT.length);
  });

  it('has each event once that several write at the same time, for different times', async () => {
    const accountId = uniqueAccountId();
    const events = Array.from({ length: 5 }, () =>
      buildMovedEvent({ accountId, id: uniqueEventId(), createdAt: FIRST }),
    );
    // Each has another part of the deliveries, and another setting.
    await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async (days) => {
        const writer = new HistoryWriter(test.database, systemClock);
        const batch = events.map((event) => ({
          ...event,
          keepDays: days,
          deliveries: [buildMovedDelivery()],
        }));
        expect(await untilWritten(() => writer.write(batch, NEVER))).toEqual({ kind: 'written' });
      }),
    );
    expect(await count('webhook_events', accountId)).toBe(events.length);
    const listed = await test.history.listEvents({ accountId }, { limit: 100 });
    expect(listed.entries.map(({ row }) => row?.deliveryCount)).toEqual(events.map(() => 6));
    expect(await count('webhook_deliveries', accountId)).toBe(6 * events.length);
  });

  // As a mover does, which tries again.
  async function untilWritten<Result>(write: () => Promise<Result>): Promise<Result> {
    for (let times = 1; ; times += 1) {
      try {
        return await write();
      } catch (error) {
        if (times === 10) throw error;
      }
    }
  }

  it('gets nothing that is older than it is kept, but what is on record for longer', async () => {
    const accountId = uniqueAccountId();
    const endpointId = uniqueEndpointId();
    const event = buildMovedEvent({ accountId, createdAt: FIRST, keepDays: 90 });
    const written = { ...event, deliveries: [buildMovedDelivery(endpointId, [attempted(1)])] };
    await test.write([written]);
    const attempt = buildAcceptedAttempt({ number: 2, startedAt: FIRST + DAY_MS });
    const facts = [attempted(1), attempted(2, { attempt })];
    const again = {
      ...event,
      keepDays: 7,
      isExpired: true,
      deliveries: [buildMovedDelivery(endpointId, facts)],
    };
    const other = buildMovedEvent({
      accountId,
      keepDays: 7,
      isExpired: true,
      deliveries: [buildMovedDelivery()],
    });
    await test.write([again, other]);
    const { entries } = await test.history.listDeliveries({ accountId }, { limit: 10 });
    expect(entries.map(({ row }) => row)).toMatchObject([
      { endpointId, status: 'delivered', attemptCount: 2 },
    ]);
    await test.write([other]);
    expect(await count('webhook_events', accountId)).toBe(1);
  });

  it('loses each day by itself, when that is over, with its bytes and at last its retention', async () => {
    const accountId = uniqueAccountId();
    const createdAt = Date.UTC(2027, 0, 1);
    const events = [11, 12, 13].map((keepDays): MovedEvent => {
      const attempt = buildAcceptedAttempt({ startedAt: createdAt });
      const fact = { kind: 'attempted', attempt, nextAttemptAt: undefined } as const;
      return buildMovedEvent({
        accountId,
        createdAt,
        keepDays,
        deliveries: [buildMovedDelivery(uniqueEndpointId(), [fact])],
      });
    });
    await test.write(events);
    const whole = (await bytesOf(accountId)) ?? 0;
    const retentions = async () => {
      const rows = await test.server.query<{ keep_days: number }>('SELECT keep_days FROM webhook_retentions');
      return rows.map(({ keep_days: days }) => days).filter((days) => days >= 11 && days <= 13);
    };
    for (const [i, keepDays] of [11, 12, 13].entries()) {
      const expiresAt = createdAt + (keepDays + 1) * DAY_MS;
      await dropDays(test.database, expiresAt - 1);
      const left = events.slice(i).map(({ id }) => id);
      const before = await test.history.listEvents({ accountId }, { limit: 10 });
      expect(before.entries.map(({ row }) => row?.id).toSorted()).toEqual(left.toSorted());
      expect((await retentions()).toSorted()).toEqual([11, 12, 13].slice(i));
      await dropDays(test.database, expiresAt);
      expect(await count('webhook_events', accountId)).toBe(2 - i);
      expect(await count('webhook_rollups', accountId)).toBe((2 - i) * 16);
      expect(await bytesOf(accountId)).toBe((whole / 3) * (2 - i));
    }
    expect(await retentions()).toEqual([]);
  });

  describe('the bytes of an account', () => {
    const answer = { responseBody: 'x'.repeat(500), responseHeaders: { server: 'y'.repeat(50) } };
    const failed = attempted(1, { attempt: buildAttempt(answer) });

    it('are what is left after its payloads were erased', async () => {
      const write = async (dataText: string, keepDays: number) => {
        const deliveries = [[failed], [attempted(1)]].map((facts) =>
          buildMovedDelivery(uniqueEndpointId(), facts),
        );
        const event = buildMovedEvent({ dataText, keepDays, deliveries });
        await test.write([event]);
        return event;
      };
      const empty = await write('', 30);
      const event = await write('{"a":"é…"}', 30);
      expect(await bytesOf(event.accountId)).toBe(((await bytesOf(empty.accountId)) ?? 0) + 13);
      await erasePayload(test.database, event.accountId, event.id, FIRST);
      await erasePayload(test.database, event.accountId, event.id, FIRST + 1);
      const answerBytes = 500 + JSON.stringify(answer.responseHeaders).length + 'no'.length;
      const markBytes = 2 * `-1 {"z":${FIRST}}\n`.length;
      const left = ((await bytesOf(empty.accountId)) ?? 0) - answerBytes + markBytes;
      expect(await bytesOf(event.accountId)).toBe(left);
    });

    it('are none after it was erased', async () => {
      const { accountId, ...event } = buildMovedEvent({ deliveries: [buildMovedDelivery()] });
      for (const keepDays of KEPT) await test.write([{ ...event, accountId, id: uniqueEventId(), keepDays }]);
      while ((await eraseAccount(test.database, accountId, 10)) > 0);
      expect(await bytesOf(accountId)).toBe(0);
    });

    it('count once what was sent again, and not the payload that was erased meanwhile', async () => {
      const endpointId = uniqueEndpointId();
      const event = buildMovedEvent({ dataText: '{"a":1}', keepDays: 30 });
      await test.write([{ ...event, deliveries: [buildMovedDelivery(endpointId, [failed])] }]);
      const once = (await bytesOf(event.accountId)) ?? 0;
      const again = [failed, attempted(2)];
      for (const keepDays of [30, 7]) {
        await test.write([{ ...event, keepDays, deliveries: [buildMovedDelivery(endpointId, again)] }]);
        expect(await bytesOf(event.accountId)).toBe(once + 300 + 'no'.length);
      }
      const head = { ...event.head, erasedAt: FIRST };
      await test.write([{ ...event, head, dataText: undefined }]);
      await test.write([{ ...event, head, dataText: undefined }]);
      expect(await bytesOf(event.accountId)).toBe(once + 302 - '{"a":1}'.length);
    });
  });
});
