import type { AccountId } from '../../domain/account';
import type { DeliveryFact } from '../../domain/delivery-fact';
import { oneShard } from '../../domain/queues';
import { EndpointStore } from '../../endpoints/redis-endpoint-store';
import { CACHED_FOR_MS, EventStore } from '../../events/redis-event-store';
import { HeldDeliveries } from '../../queue/bullmq-held-deliveries';
import { type ArrangedEvent, DELIVERED, EXHAUSTED, FAILED, MovingScene } from '../../testing/moving-scene';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { createSeededRandom } from '../../testing/seeded-random';
import { openTestHistory, type TestHistory } from '../../testing/test-history';
import { testRetention } from '../../testing/test-retention';
import { testSealer } from '../../testing/test-sealer';
import { uniqueAccountId } from '../../testing/unique-ids';
import { erasePayload } from '../database/pg-erase';
import { PgHistory } from '../database/pg-history';
import { HistoryWriter } from '../database/pg-history-writer';
import { type ListMark, newestFirst } from '../history-source';
import { Recent } from '../redis-recent';
import { WholeHistory } from '../whole-history';

if (!hasPostgres) console.warn(`SKIPPED: a search while events move to PostgreSQL, because ${NO_POSTGRES}.`);

const EVENTS = 60;
const SECOND = 1_000;
// Several are accepted at once.
const ACCEPTED_EVERY = 3 * SECOND;
const TYPES = ['a.b', 'c.d'];
// The same number, close ones, and what no search can have.
const NUMBERS = ['1', '1.0', '10e-1', '2', '9007199254740993', '9007199254740992', '"1"'];
const NOTES = ['null', '"é"', '"\\u00e9"', '"\\u0000"', '"\\ud800"', '["x","y"]', '[{"k":1},{"k":2}]'];

interface Written extends ArrangedEvent {
  readonly number: string;
  readonly note: string;
  readonly isErased: boolean;
}

const isUnsearchable = ({ note, isErased }: Written) =>
  isErased || note.includes('\\u0000') || note.includes('\\ud800');

const SEARCHES: readonly [data: string, isFound: (event: Written) => boolean][] = [
  ['{"deep":{"n":1}}', ({ number }) => ['1', '1.0', '10e-1'].includes(number)],
  ['{"deep":{"n":9007199254740993}}', ({ number }) => number === '9007199254740993'],
  ['{"note":"é"}', ({ note }) => note === '"é"' || note === '"\\u00e9"'],
  ['{"note":["y"],"deep":{}}', ({ note }) => note === '["x","y"]'],
  ['{"note":[{"k":2}]}', ({ note }) => note.includes('{"k":2}')],
  ['{"note":"\\u0000"}', () => false],
  ['{"deep":{"n":1,"m":null}}', () => false],
];

(hasPostgres ? describe : describe.skip)('a search while events move', () => {
  let test: TestHistory;
  let scene: MovingScene;
  beforeAll(async () => {
    test = await openTestHistory();
    scene = await MovingScene.open();
  });
  afterAll(async () => {
    await scene.close();
    await test.close();
  });

  /** Some are delivered to nobody, some have not ended yet, some are erased. */
  async function arrange(random: () => number) {
    const accountId = uniqueAccountId();
    const choose = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
    const outcomes: readonly DeliveryFact[][] = [[DELIVERED], [DELIVERED], [EXHAUSTED], [FAILED], []];
    const events: Written[] = [];
    for (let i = 0; i < EVENTS; i += 1) {
      const [number, note, type] = [choose(NUMBERS), choose(NOTES), choose(TYPES)];
      const body = `{"type":"${type}","data":{"deep":{"n":${number},"i":${i}},"note":${note}}}`;
      const facts = Array.from({ length: Math.floor(random() * 4) }, () => choose(outcomes));
      const acceptedAt = scene.now - (scene.now % ACCEPTED_EVERY);
      const arranged = await scene.arrange(facts, { accountId, type, body, acceptedAt });
      const isErased = random() < 0.1;
      if (isErased) await scene.eventStore.erasePayload(accountId, arranged.event.id, scene.now);
      events.push({ ...arranged, number, note, isErased });
      scene.now += SECOND;
    }
    const { client } = scene.redis;
    const time = { now: 0 };
    const stores = {
      endpointStore: new EndpointStore(client, testSealer),
      eventStore: new EventStore(client, testRetention, () => time.now),
      deliveryStore: scene.deliveryStore,
      heldDeliveries: new HeldDeliveries(client, oneShard('bull')),
    };
    const historyWriter = new HistoryWriter(test.database, () => scene.now);
    /** What had ended before: so much longer ago with each call. */
    const moveSome = () => scene.moveAfter(Math.floor(random() * 2 * SECOND), { historyWriter });
    // Between the look into Redis and the one into the history.
    const moved = new PgHistory(test.database);
    const source = new Proxy(moved, {
      get: (_target, name) => {
        const method: unknown = Reflect.get(moved, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          await moveSome();
          return await (Reflect.apply(method, moved, args) as Promise<unknown>);
        };
      },
    });
    const recent = new Recent(stores, scene.movedStore);
    const history = new WholeHistory(recent, { source, movedStore: scene.movedStore });
    return { accountId, events, moveSome, history, time };
  }

  async function pageThrough<Row>(
    readPage: (
      limit: number,
      before?: ListMark,
    ) => Promise<{ found: readonly Row[]; nextCursor?: ListMark | undefined }>,
    random: () => number,
  ): Promise<readonly Row[]> {
    const rows: Row[] = [];
    let cursor: ListMark | undefined;
    do {
      const page = await readPage(1 + Math.floor(random() * 20), cursor);
      rows.push(...page.found);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return rows;
  }

  const inOrder = (events: readonly Written[]) =>
    events
      .map((written) => {
        const { id: eventId, acceptedAt: createdAt } = written.event;
        return { written, eventId, createdAt };
      })
      .toSorted(newestFirst)
      .map(({ written }) => written);

  /** How many of the account's events are still in Redis. */
  const left = async (accountId: AccountId) => (await scene.eventStore.list(accountId, EVENTS)).marks.length;

  it.each([1, 2, 3])('finds each event once, in order, from wherever it is (%s)', async (seed) => {
    const random = createSeededRandom(seed);
    const { accountId, events, moveSome, history } = await arrange(random);
    const leftAfter: number[] = [];
    for (let round = 0; round < 2; round += 1) {
      for (const [data, isFound] of SEARCHES) {
        const found = inOrder(events).filter((event) => isFound(event) && !isUnsearchable(event));
        const rows = await pageThrough(async (limit, before) => {
          await moveSome();
          return await history.listEvents({ accountId, data }, limit, before);
        }, random);
        expect([data, rows.map(({ id }) => id)]).toEqual([data, found.map(({ event }) => event.id)]);
        const ofType = await pageThrough(
          (limit, before) => history.listEvents({ accountId, data, type: 'a.b' }, limit, before),
          random,
        );
        expect(ofType.map(({ id }) => id)).toEqual(
          found.filter(({ event }) => event.type === 'a.b').map(({ event }) => event.id),
        );
        leftAfter.push(await left(accountId));
      }
    }
    // They moved all the time.
    expect(new Set(leftAfter).size).toBeGreaterThan(3);
  });

  it.each([4, 5, 6])('finds each delivery once, in order, from wherever it is (%s)', async (seed) => {
    const random = createSeededRandom(seed);
    const { accountId, events, moveSome, history } = await arrange(random);
    for (let round = 0; round < 2; round += 1) {
      for (const [data, isFound] of SEARCHES) {
        const found = inOrder(events).filter((event) => isFound(event) && !isUnsearchable(event));
        const rows = await pageThrough(async (limit, before) => {
          await moveSome();
          return await history.listDeliveries({ accountId, data }, limit, before);
        }, random);
        const expected = found.flatMap(({ event, endpointIds }) =>
          endpointIds
            .toSorted()
            .toReversed()
            .map((endpointId) => [event.id, endpointId]),
        );
        expect([data, rows.map(({ eventId, endpointId }) => [eventId, endpointId])]).toEqual([
          data,
          expected,
        ]);
        const exhausted = await pageThrough(
          (limit, before) => history.listDeliveries({ accountId, data, status: 'exhausted' }, limit, before),
          random,
        );
        expect(exhausted).toEqual(rows.filter(({ status }) => status === 'exhausted'));
      }
    }
  });

  it('finds nothing of a payload that is erased while it moves', async () => {
    const { accountId, events, history, time } = await arrange(createSeededRandom(7));
    const readAll = () => history.listEvents({ accountId, data: '{"deep":{}}' }, 200);
    const before = (await readAll()).found;
    const erased = before.filter((_, i) => i % 3 === 0).map(({ id }) => id);
    for (const id of erased) {
      await scene.eventStore.erasePayload(accountId, id, scene.now);
      await erasePayload(test.database, accountId, id, scene.now);
    }
    // An erasure waits for this until it answers.
    time.now += CACHED_FOR_MS;
    const after = (await readAll()).found.map(({ id }) => id);
    expect(after).toEqual(before.map(({ id }) => id).filter((id) => !erased.includes(id)));
    expect(events.length).toBeGreaterThan(before.length);
  });
});
