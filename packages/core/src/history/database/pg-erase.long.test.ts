import { type DeliveryFact, encodeFact, eraseAnswers } from '../../domain/delivery-fact';
import { buildAttempt } from '../../testing/build-attempt';
import { buildMovedDelivery, buildMovedEvent } from '../../testing/build-moved-event';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { openTestHistory, readLogs, type TestHistory } from '../../testing/test-history';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { eraseAccount, erasePayload } from './pg-erase';
import type { PgHistory } from './pg-history';
import { readBytes } from './pg-usage';

if (!hasPostgres) console.warn(`SKIPPED: erasing from the history in PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const ERASED_AT = 1_700_000_500_000;
const TABLES = [
  'webhook_events',
  'webhook_deliveries',
  'webhook_attempts',
  'webhook_rollups',
  'webhook_usage',
];

describePostgres('erasing from the history', () => {
  let test: TestHistory;
  let history: PgHistory;
  beforeAll(async () => {
    test = await openTestHistory();
    history = test.history;
  });
  afterAll(() => test.close());

  const answered: DeliveryFact = {
    kind: 'attempted',
    attempt: buildAttempt({ responseBody: 'secret\0', responseHeaders: { server: 'secret' } }),
    nextAttemptAt: undefined,
    eventType: 'keyword.quick_win',
  };

  async function write(change = {}) {
    const deliveries = [
      buildMovedDelivery(uniqueEndpointId(), [answered]),
      buildMovedDelivery(undefined, [answered]),
    ];
    const event = buildMovedEvent({ dataText: '{"a":"secret"}', deliveries, ...change });
    await test.write([event]);
    return event;
  }

  const textsOf = async ({ accountId }: { readonly accountId: string }) => {
    const found = TABLES.map((table) =>
      test.server.query(`SELECT t::text FROM ${table} AS t WHERE account_id = $1`, [accountId]),
    );
    return (await Promise.all(found)).flat();
  };

  it('removes the payload and the answers, and nothing else', async () => {
    const event = await write();
    const neighbour = await write({ accountId: event.accountId });
    expect(await erasePayload(test.database, event.accountId, event.id, ERASED_AT)).toBeDefined();
    expect(await history.findEvent(event.accountId, event.id)).toMatchObject({
      type: event.head.type,
      erasedAt: ERASED_AT,
    });
    const keys = event.deliveries.map(({ endpointId }) => ({
      eventId: event.id,
      endpointId,
      createdAt: event.createdAt,
    }));
    const erased = eraseAnswers(encodeFact(answered), ERASED_AT);
    expect(await readLogs(history, event.accountId, keys)).toEqual([erased, erased]);
    const texts = await textsOf(event);
    expect(JSON.stringify(texts).match(/secret/g)).not.toBeNull();
    const own = texts.filter((row) => JSON.stringify(row).includes(event.id));
    expect(own).toHaveLength(5);
    expect(JSON.stringify(own)).not.toContain('secret');
    expect(await history.findEvent(event.accountId, neighbour.id)).toHaveProperty('body');
  });

  it('keeps what else is known of an attempt: what was sent in which form, and why there was no token', async () => {
    const facts: readonly DeliveryFact[] = [
      {
        kind: 'transformed',
        transformed: { version: 2, body: '{"b":"secret"}', headers: { 'x-a': 'secret' } },
      },
      {
        kind: 'attempted',
        attempt: buildAttempt({
          responseBody: 'secret\0',
          contentHeaders: { 'content-type': 'application/cloudevents+json' },
          transformed: { version: 2, body: '', headers: {} },
          batchId: 'msg_1',
        }),
        nextAttemptAt: 1_700_000_100_000,
      },
      {
        kind: 'attempted',
        attempt: buildAttempt({ number: 2, outcome: 'token_error', tokenError: { status: 400 } }),
        nextAttemptAt: 1_700_000_200_000,
      },
      {
        kind: 'attempted',
        attempt: buildAttempt({
          number: 3,
          outcome: 'transform_error',
          error: 'line 2, column 3: Error: secret\0',
        }),
        nextAttemptAt: undefined,
      },
    ];
    const event = await write({ deliveries: [buildMovedDelivery(uniqueEndpointId(), facts)] });
    const [before = 0] = await readBytes(test.database, [event.accountId]);
    await erasePayload(test.database, event.accountId, event.id, ERASED_AT);
    const keys = event.deliveries.map(({ endpointId }) => ({
      eventId: event.id,
      endpointId,
      createdAt: event.createdAt,
    }));
    const erased = eraseAnswers(facts.map(encodeFact).join(''), ERASED_AT);
    expect(await readLogs(history, event.accountId, keys)).toEqual([erased]);
    expect(JSON.stringify(await textsOf(event))).not.toContain('secret');
    const [after = 0] = await readBytes(test.database, [event.accountId]);
    expect(before - after).toBeGreaterThan('{"a":"secret"}'.length + '{"m":"{\\"b\\":\\"secret\\"}"'.length);
  });

  it('keeps the time of the first erasure', async () => {
    const event = await write();
    await erasePayload(test.database, event.accountId, event.id, ERASED_AT);
    expect(await erasePayload(test.database, event.accountId, event.id, ERASED_AT + 1)).toBeDefined();
    expect(await history.findEvent(event.accountId, event.id)).toMatchObject({ erasedAt: ERASED_AT });
    expect(JSON.stringify(await textsOf(event))).not.toContain(String(ERASED_AT + 1));
  });

  it('says that it has no such event', async () => {
    expect(await erasePayload(test.database, uniqueAccountId(), uniqueEventId(), ERASED_AT)).toBeUndefined();
  });

  it('removes an account a part at a time, and no other', async () => {
    const { accountId } = await write();
    const other = await write();
    for (let i = 1; i < 5; i += 1) await write({ accountId, createdAt: other.createdAt + i * 86_400_000 });
    const removed: number[] = [];
    do removed.push(await eraseAccount(test.database, accountId, 4));
    while (removed.at(-1) !== 0);
    expect(removed.length).toBeGreaterThan(5);
    expect(await textsOf({ accountId })).toEqual([]);
    expect((await textsOf(other)).length).toBeGreaterThan(5);
  });

  it('says that the history is away', async () => {
    await test.server.kill();
    const away = { code: 'history_unavailable', retryAfterMs: expect.any(Number) };
    await expect(erasePayload(test.database, uniqueAccountId(), uniqueEventId(), 0)).rejects.toMatchObject(
      away,
    );
    await expect(eraseAccount(test.database, uniqueAccountId(), 1)).rejects.toMatchObject(away);
    await test.server.start();
    expect(await eraseAccount(test.database, uniqueAccountId(), 1)).toBe(0);
  });
});
