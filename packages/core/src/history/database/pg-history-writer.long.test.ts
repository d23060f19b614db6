import * as fc from 'fast-check';
import { type DeliveryFact, encodeFact, eraseAnswers } from '../../domain/delivery-fact';
import { readLog } from '../../domain/delivery-log';
import type { MovedEvent } from '../../domain/moved-event';
import { systemClock } from '../../platform/clock';
import { buildAcceptedAttempt, buildAttempt } from '../../testing/build-attempt';
import { buildMovedDelivery, buildMovedEvent } from '../../testing/build-moved-event';
import { deliveryLog } from '../../testing/delivery-logs';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { openTestHistory, readLogs, type TestHistory } from '../../testing/test-history';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import { PgHistory } from './pg-history';
import { HistoryWriter } from './pg-history-writer';
import { readBytes } from './pg-usage';

if (!hasPostgres) console.warn(`SKIPPED: writing to the history in PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const NEVER = Number.POSITIVE_INFINITY;
const WRITTEN = { kind: 'written' };
const TYPE = 'keyword.quick_win';

describePostgres('the writer of the history', () => {
  let test: TestHistory;
  let history: PgHistory;
  let writer: HistoryWriter;
  beforeAll(async () => {
    test = await openTestHistory();
    history = new PgHistory(test.database);
  });
  beforeEach(() => {
    writer = new HistoryWriter(test.database, systemClock);
  });
  // After a test that killed it, failed or not.
  afterEach(() => test.server.start());
  afterAll(() => test.close());

  async function logOf(
    { accountId, id, createdAt, deliveries }: MovedEvent,
    endpointId = deliveries[0]?.endpointId,
  ) {
    if (endpointId === undefined) throw new Error('It has no delivery.');
    const [log] = await readLogs(history, accountId, [{ eventId: id, createdAt, endpointId }]);
    return log;
  }

  const count = async (table: string, { accountId }: Pick<MovedEvent, 'accountId'>) => {
    const rows = await test.server.query<{ count: number }>(
      `SELECT count(*)::int FROM ${table} WHERE account_id = $1`,
      [accountId],
    );
    return rows[0]?.count;
  };

  function attempted(
    number: number,
    change: Partial<DeliveryFact & { kind: 'attempted' }> = {},
  ): DeliveryFact {
    const attempt = buildAttempt({ number, startedAt: 1_700_000_000_000 + number * 60_000 });
    return {
      kind: 'attempted',
      attempt,
      nextAttemptAt: undefined,
      ...(number === 1 ? { eventType: TYPE } : {}),
      ...change,
    };
  }

  it('keeps all that a log says, whatever is in it', async () => {
    await fc.assert(
      fc.asyncProperty(deliveryLog(TYPE), async (log) => {
        const event = buildMovedEvent({ deliveries: [{ endpointId: uniqueEndpointId(), log }] });
        expect(await writer.write([event], NEVER)).toEqual(WRITTEN);
        expect(readLog((await logOf(event)) ?? 'none')).toEqual(readLog(log));
      }),
      { numRuns: 100 },
    );
  });

  it('changes nothing when it is repeated, also by another one', async () => {
    const deliveries = [
      buildMovedDelivery(),
      buildMovedDelivery(undefined, [attempted(1, { nextAttemptAt: 5 }), attempted(2)]),
    ];
    const event = buildMovedEvent({ deliveries });
    const state = async () => ({
      rollups: await test.server.query(
        'SELECT * FROM webhook_rollups WHERE account_id = $1 ORDER BY grain, dimension, start, value',
        [event.accountId],
      ),
      bytes: await readBytes(test.database, [event.accountId]),
      logs: await Promise.all(deliveries.map(({ endpointId }) => logOf(event, endpointId))),
    });
    await writer.write([event], NEVER);
    const before = await state();
    await writer.write([event], NEVER);
    await new HistoryWriter(test.database, systemClock).write([event], NEVER);
    expect(await state()).toEqual(before);
    expect(before.logs).toEqual(deliveries.map(({ log }) => log));
    expect(await count('webhook_attempts', event)).toBe(3);
  });

  it('brings a delivery up to date that was sent again', async () => {
    const endpointId = uniqueEndpointId();
    const event = buildMovedEvent({ deliveries: [buildMovedDelivery(endpointId, [attempted(1)])] });
    await writer.write([event], NEVER);
    const request = {
      kind: 'requested',
      requestId: 'r1',
      trigger: 'manual',
      requestedAt: 1_700_000_100_000,
    } as const;
    const attempt = buildAcceptedAttempt({ number: 2, startedAt: 1_700_000_110_000, trigger: 'manual' });
    const facts = [attempted(1), request, attempted(2, { attempt })];
    await writer.write([{ ...event, deliveries: [buildMovedDelivery(endpointId, facts)] }], NEVER);
    expect(await logOf(event)).toBe(facts.map(encodeFact).join(''));
    expect(await history.countDeliveries(event.accountId, event.id)).toMatchObject({
      total: 1,
      delivered: 1,
    });
  });

  it('has what was sent again once, also when it would be kept for another time now', async () => {
    const endpointId = uniqueEndpointId();
    const event = buildMovedEvent({ deliveries: [buildMovedDelivery(endpointId, [attempted(1)])] });
    await writer.write([event], NEVER);
    const facts = [attempted(1), attempted(2)];
    const again = { ...event, keepDays: 30, deliveries: [buildMovedDelivery(endpointId, facts)] };
    await writer.write([again, buildMovedEvent({ keepDays: 30 })], NEVER);
    const { entries } = await history.listDeliveries({ accountId: event.accountId }, { limit: 10 });
    expect(entries.map(({ row }) => row)).toMatchObject([{ endpointId, attemptCount: 2 }]);
    expect(await logOf(event)).toBe(facts.map(encodeFact).join(''));
  });

  it('adds the attempts of a log that began anew', async () => {
    const endpointId = uniqueEndpointId();
    const first = attempted(1, { nextAttemptAt: 5 });
    const attempt = buildAcceptedAttempt({ number: 1, startedAt: 1_700_000_900_000 });
    const late = attempted(1, { attempt, isLate: true });
    const event = buildMovedEvent({ deliveries: [buildMovedDelivery(endpointId, [first, attempted(2)])] });
    await writer.write([event], NEVER);
    await writer.write([{ ...event, deliveries: [buildMovedDelivery(endpointId, [late])] }], NEVER);
    expect(await logOf(event)).toBe([first, attempted(2), late].map(encodeFact).join(''));
    expect(await history.countDeliveries(event.accountId, event.id)).toMatchObject({
      delivered: 1,
      exhausted: 0,
    });
  });

  it('lets what was erased stay erased, in whichever order it comes', async () => {
    const endpointId = uniqueEndpointId();
    const answered = attempted(1, { attempt: buildAttempt({ responseBody: 'secret' }) });
    const whole = buildMovedEvent({ deliveries: [buildMovedDelivery(endpointId, [answered])] });
    const log = eraseAnswers(encodeFact(answered), 1_700_000_500_000);
    const erased = {
      ...whole,
      dataText: undefined,
      head: { ...whole.head, erasedAt: 1_700_000_500_000 },
      deliveries: [{ endpointId, log }],
    };
    for (const [first, second] of [
      [whole, erased],
      [erased, whole],
    ] as const) {
      const { accountId } = buildMovedEvent();
      await writer.write([{ ...first, accountId }], NEVER);
      await writer.write([{ ...second, accountId }], NEVER);
      expect(await history.findEvent(accountId, whole.id)).toMatchObject({ erasedAt: 1_700_000_500_000 });
      expect(await logOf({ ...whole, accountId })).toBe(log);
      const rows = await test.server.query(
        'SELECT a::text FROM webhook_attempts AS a WHERE account_id = $1',
        [accountId],
      );
      expect(JSON.stringify(rows)).not.toContain('secret');
    }
  });

  it('begins to write nothing after the time by which it must have begun', async () => {
    const event = buildMovedEvent({ deliveries: [buildMovedDelivery()] });
    await expect(writer.write([event], systemClock() - 1)).rejects.toMatchObject({
      code: 'history_unavailable',
    });
    expect(await count('webhook_events', event)).toBe(0);
    expect(await count('webhook_deliveries', event)).toBe(0);
  });

  it.each(['{"a":"\\u0000"}', '{"a":"\\ud800"}', '{"a":1e999999}'])(
    'takes %s as it is, and does not search it',
    async (dataText) => {
      const event = buildMovedEvent({ dataText });
      expect(await writer.write([event], NEVER)).toEqual(WRITTEN);
      expect(await history.findEvent(event.accountId, event.id)).toMatchObject({
        body: `{"type":"${TYPE}","data":${dataText}}`,
      });
    },
  );

  it('takes data that only the search refuses', async () => {
    // More levels than the parser of jsonb takes, which nobody is asked about before.
    const dataText = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const event = buildMovedEvent({ dataText });
    expect(await writer.write([event], NEVER)).toEqual(WRITTEN);
    expect(await history.findEvent(event.accountId, event.id)).toMatchObject({
      body: `{"type":"${TYPE}","data":${dataText}}`,
    });
  });

  it('writes nothing of a batch of which PostgreSQL refuses one, and says why', async () => {
    const { accountId } = buildMovedEvent();
    const good = buildMovedEvent({ accountId, deliveries: [buildMovedDelivery()] });
    const bad = buildMovedEvent({ accountId, keepDays: 40_000 });
    const refused = await writer.write(
      [good, { ...bad, keepDays: 90, head: { type: 'a\0b', isAimed: false } }],
      NEVER,
    );
    expect(refused).toMatchObject({ kind: 'refused', code: '22P05' });
    expect(await count('webhook_events', good)).toBe(0);
    expect(await writer.write([good], NEVER)).toEqual(WRITTEN);
  });

  it('refuses what breaks a constraint that the operator added, and nothing else', async () => {
    await test.server.query("ALTER TABLE webhook_events ADD CONSTRAINT few CHECK (type <> 'odd') NOT VALID");
    const odd = buildMovedEvent({ head: { type: 'odd', isAimed: false } });
    const refused = await writer.write([odd], NEVER);
    const written = await writer.write([buildMovedEvent()], NEVER);
    await test.server.query('ALTER TABLE webhook_events DROP CONSTRAINT few');
    expect(refused).toMatchObject({ kind: 'refused', code: '23514' });
    expect(written).toEqual(WRITTEN);
  });

  it('has the database itself give up, before it does, what takes long or waits for a lock', async () => {
    const ends = (setting: string) => `current_setting('${setting}')::interval BETWEEN '1 s' AND '16 s'`;
    const both = `${ends('statement_timeout')} AND ${ends('lock_timeout')}`;
    await test.server.query(`ALTER TABLE webhook_events ADD CONSTRAINT ends CHECK (${both}) NOT VALID`);
    const written = await writer.write([buildMovedEvent()], NEVER);
    await test.server.query('ALTER TABLE webhook_events DROP CONSTRAINT ends');
    expect(written).toEqual(WRITTEN);
  });

  it('goes on after PostgreSQL was killed in the middle of a batch', async () => {
    const { accountId } = buildMovedEvent();
    const events = Array.from({ length: 50 }, () =>
      buildMovedEvent({ accountId, deliveries: [buildMovedDelivery()] }),
    );
    const blocker = test.server
      .query('SELECT pg_sleep(300) FROM (SELECT pg_advisory_lock(7236150448)) AS held')
      .catch(() => {});
    while (
      (await test.server.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted`)).length === 0
    );
    const writing = writer.write(events, NEVER).catch((error: unknown) => error);
    while (
      (await test.server.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)).length ===
      0
    );
    await test.server.kill();
    await blocker;
    expect(await writing).toBeInstanceOf(Error);
    await test.server.start();
    expect(await count('webhook_events', { accountId })).toBe(0);
    expect(await writer.write(events, NEVER)).toEqual(WRITTEN);
    expect(await count('webhook_events', { accountId })).toBe(50);
    expect(await count('webhook_attempts', { accountId })).toBe(50);
  });

  it('has each delivery once that several write at the same time', async () => {
    const accountId = uniqueAccountId();
    // Each of them comes to a day that nobody has made yet.
    const events = Array.from({ length: 40 }, () =>
      buildMovedEvent({ accountId, keepDays: 11, deliveries: [buildMovedDelivery()] }),
    );
    const writers = Array.from({ length: 4 }, () => new HistoryWriter(test.database, systemClock));
    const results = await Promise.all(
      writers.map((each, i) => each.write(i % 2 === 0 ? events : events.toReversed(), NEVER)),
    );
    expect(results).toEqual(writers.map(() => WRITTEN));
    expect(await count('webhook_attempts', { accountId })).toBe(40);
    const rollups = await test.server.query(
      `SELECT sum(attempts)::int AS attempts, sum(delivered)::int AS delivered FROM webhook_rollups
       WHERE account_id = $1 AND grain = '1d' AND dimension = 'outcome'`,
      [accountId],
    );
    expect(rollups).toEqual([{ attempts: 40, delivered: 40 }]);
  });

  it('makes a day again whose partition somebody has dropped, at the next try', async () => {
    const event = buildMovedEvent({ keepDays: 3 });
    await writer.write([event], NEVER);
    await test.server.query('DROP TABLE webhook_events_k3_20231114');
    await expect(writer.write([event], NEVER)).rejects.toThrow('no partition');
    expect(await writer.write([event], NEVER)).toEqual(WRITTEN);
  });
});
