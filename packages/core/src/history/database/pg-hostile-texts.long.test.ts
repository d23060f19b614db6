import * as fc from 'fast-check';
import type { EventId } from '../../domain/event';
import { buildMovedDelivery, buildMovedEvent } from '../../testing/build-moved-event';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { openTestHistory, type TestHistory } from '../../testing/test-history';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../../testing/unique-ids';
import { erasePayload } from './pg-erase';
import type { PgHistory } from './pg-history';

if (!hasPostgres) console.warn(`SKIPPED: texts that would be SQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const HOSTILE = [
  "'; DROP TABLE webhook_events; --",
  "' OR '1'='1",
  "x' UNION SELECT account_id, event_id FROM webhook_events --",
  '$1',
  '%',
  '_',
  '\\',
  "\\'; DELETE FROM webhook_deliveries; --",
  '"',
  '$$',
  '/*',
  ') OR true',
];

describePostgres('what clients say, in the history', () => {
  let test: TestHistory;
  let history: PgHistory;
  const accountId = uniqueAccountId();
  const victim = buildMovedEvent({ dataText: '{"whose":"the victim"}', deliveries: [buildMovedDelivery()] });
  beforeAll(async () => {
    test = await openTestHistory();
    history = test.history;
    await test.write([victim]);
  });
  afterAll(() => test.close());

  const text = fc.oneof(
    fc.constantFrom(...HOSTILE),
    fc.string({ minLength: 1, maxLength: 30 }).map((any) => any.replaceAll('\0', '')),
  );

  it('is a value wherever it stands, and finds nothing but itself', async () => {
    const given = fc.record({ id: text, type: text, word: text });
    const property = fc.asyncProperty(given, async ({ id, type, word }) => {
      const own = `${uniqueEventId()} ${id}` as EventId;
      const dataText = JSON.stringify({ [word]: word, nested: [word] });
      const delivery = buildMovedDelivery();
      const event = buildMovedEvent({
        accountId,
        id: own,
        head: { type: `${own} ${type}`, isAimed: false },
        dataText,
        deliveries: [delivery],
      });
      await test.write([event]);
      const ids = async (filter: object) =>
        (await history.listEvents({ accountId, ...filter }, { limit: 100 })).entries.map(
          ({ row }) => row?.id,
        );
      expect(await ids({ type: event.head.type })).toEqual([own]);
      expect(await ids({ type })).toEqual([]);
      expect(await ids({ data: dataText })).toContain(own);
      const listed = await history.listDeliveries({ accountId, eventId: own }, { limit: 100 });
      expect(listed.entries.map(({ row }) => row?.endpointId)).toEqual([delivery.endpointId]);
      const mark = { createdAt: event.createdAt, eventId: id as EventId, endpointId: uniqueEndpointId() };
      await history.listDeliveries({ accountId, eventType: type }, { limit: 100, after: mark, last: mark });
      expect(await history.findEvent(accountId, own)).toMatchObject({
        body: JSON.stringify({ type: event.head.type, data: JSON.parse(dataText) }),
      });
      expect(await erasePayload(test.database, accountId, own, 1)).toBeDefined();
    });
    await fc.assert(property, {
      numRuns: 40,
      examples: HOSTILE.map((one) => [{ id: one, type: one, word: one }]),
    });
  });

  it('leads to nothing of another account, however a search is written', async () => {
    const patterns = [
      '{"whose":"the victim"}',
      `{"whose":"the victim"},"${victim.accountId}":{"whose":"the victim"}`,
      `{}} OR {"a":{`,
      `{"${victim.accountId}":{"whose":"the victim"}}`,
    ];
    for (const data of patterns) {
      // What is no JSON is refused before; here it must not do any harm either.
      const found = await history.listEvents({ accountId, data }, { limit: 100 }).catch(() => undefined);
      expect(found?.entries ?? []).toEqual([]);
    }
    expect(await history.findEvent(victim.accountId, victim.id)).toMatchObject({ id: victim.id });
    const tables = await test.server.query(`SELECT to_regclass('webhook_events') AS is_there`);
    expect(tables).toEqual([{ is_there: 'webhook_events' }]);
  });
});
