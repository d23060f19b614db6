import { AccountStore } from '../accounts/redis-account-store';
import type { AccountId } from '../domain/account';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { MovedEvent } from '../domain/moved-event';
import { oneShard } from '../domain/queues';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { MovedStore } from '../events/redis-moved';
import { MovedIds } from '../events/redis-moved-ids';
import { HistoryWriter } from '../history/database/pg-history-writer';
import { ScheduledEvents } from '../publish/scheduled-events';
import type { AccountJobs } from '../queue/bullmq-account-jobs';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { EventQueue } from '../queue/bullmq-event-queue';
import { buildEvent } from '../testing/build-event';
import { buildMovedDelivery, buildMovedEvent } from '../testing/build-moved-event';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { keepMovedId } from '../testing/keep-moved-id';
import { noOrder } from '../testing/no-order';
import { openPublishingParts } from '../testing/open-publishing-parts';
import { hasPostgres, NO_POSTGRES } from '../testing/postgres-server';
import { recordSignals } from '../testing/record-signals';
import { openTestHistory, type TestHistory } from '../testing/test-history';
import { openTestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEventId } from '../testing/unique-ids';
import { AccountErasure, type AccountErasureParts, type ErasureCursor } from './erase-account';
import { PayloadErasure, type PayloadErasureParts } from './erase-payload';
import { RemainsStore } from './redis-remains-store';

if (!hasPostgres) console.warn(`SKIPPED: erasures of what has moved, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const NOW = 1_700_000_000_000;
const RETENTION_MS = 86_400_000;

describePostgres('an erasure of what has moved to the history', () => {
  let history: TestHistory;
  const { willClose, closeAll } = createClosables();
  beforeAll(async () => {
    history = await openTestHistory();
  });
  afterEach(async () => {
    await closeAll();
    // After a test that killed it.
    await history.server.start();
  });
  afterAll(() => history.close());

  async function arrange() {
    const { client } = willClose(await openTestRedis());
    const signals = recordSignals();
    const movedIds = new MovedIds(client, RETENTION_MS);
    const common = { movedIds, historyDatabase: history.database, clock: () => NOW, emit: signals.listen };
    const writer = new HistoryWriter(history.database, () => NOW);
    return {
      client,
      movedIds,
      signals,
      accountStore: new AccountStore(client),
      movedStore: new MovedStore(client, testRetention),
      async move(change: Partial<MovedEvent> = {}): Promise<MovedEvent> {
        const event = buildMovedEvent({ deliveries: [buildMovedDelivery()], ...change });
        await writer.write([event], Number.POSITIVE_INFINITY);
        const { accountId, id, createdAt: acceptedAt } = event;
        const movedId = { kind: 'claimed', digest: 'digest' } as const;
        await keepMovedId(client, movedIds, { accountId, eventId: id, acceptedAt, movedId }, NOW);
        return event;
      },
      erase: (accountId: AccountId, id: EventId, wait = async () => {}) =>
        new PayloadErasure(
          fake<PayloadErasureParts>({
            ...common,
            ...noOrder,
            scheduledEvents: new ScheduledEvents({
              ...openPublishingParts(client),
              clock: () => NOW,
              emit: signals.listen,
            }),
            eventStore: new EventStore(client, testRetention),
            deliveryStore: new DeliveryStore(client, testRetention),
            eventQueue: new EventQueue(client, oneShard('bull')),
            wait,
          }),
        ).erase(accountId, id),
      async eraseAccount(accountId: AccountId): Promise<void> {
        const erasure = new AccountErasure(
          fake<AccountErasureParts>({
            ...common,
            accountStore: new AccountStore(client),
            endpointStore: new EndpointStore(client, testSealer),
            remainsStore: new RemainsStore(client, oneShard('bull')),
            deliveryQueue: fake<DeliveryQueue>({ removeIdle: async () => [] }),
            accountJobs: fake<AccountJobs>({ removeSome: async () => undefined }),
            retention: { ageMs: RETENTION_MS },
          }),
        );
        let cursor: ErasureCursor | undefined;
        for (;;) {
          const result = await erasure.step(accountId, cursor);
          if (result.kind === 'done') return;
          cursor = result.cursor ?? cursor;
        }
      },
    };
  }

  const dataOf = async ({ id }: MovedEvent) =>
    await history.server.query(
      'SELECT data, erased_at IS NOT NULL AS erased FROM webhook_events WHERE event_id = $1',
      [id],
    );
  const rowsOf = async (accountId: AccountId) =>
    await history.server.query(
      `SELECT 'e' FROM webhook_events WHERE account_id = $1 UNION ALL SELECT 'd' FROM webhook_deliveries
       WHERE account_id = $1 UNION ALL SELECT 'a' FROM webhook_attempts WHERE account_id = $1
       UNION ALL SELECT 'r' FROM webhook_rollups WHERE account_id = $1`,
      [accountId],
    );

  it('of a payload takes it from there, with what its id stood for; the id stays taken', async () => {
    const { move, erase, movedIds, client, signals } = await arrange();
    const event = await move();
    await erase(event.accountId, event.id);
    expect(await dataOf(event)).toEqual([{ data: null, erased: true }]);
    const { moved } = await movedIds.look(event.accountId, event.id, NOW)(client);
    expect(moved).toMatchObject({ kind: 'claimed', digest: undefined });
    expect(signals.named('event.payload_erased')).toHaveLength(1);
  });

  it('of a payload finds what lapsed meanwhile, and came back as it had been read before', async () => {
    const { move, erase, client } = await arrange();
    const { accountId, id, createdAt: acceptedAt } = await move();
    const store = new EventStore(client, testRetention);
    const event = buildEvent({ accountId, id, acceptedAt });
    await store.save(event)(client);
    await erase(accountId, id, async () => {
      await client.del(keys.event(accountId, id));
      await store.save(event)(client);
    });
    expect((await store.find(accountId, id))?.body).toBeUndefined();
  });

  it('of a payload finds no event of another account, nor one that never was', async () => {
    const { move, erase } = await arrange();
    const event = await move();
    await expect(erase(uniqueAccountId(), event.id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(erase(event.accountId, uniqueEventId())).rejects.toMatchObject({ code: 'not_found' });
    expect(await dataOf(event)).toEqual([{ data: event.dataText, erased: false }]);
  });

  it('of a payload is refused while the history is away, and done when it is asked for again', async () => {
    const { move, erase } = await arrange();
    const event = await move();
    await history.server.kill();
    await expect(erase(event.accountId, event.id)).rejects.toMatchObject({ code: 'history_unavailable' });
    await history.server.start();
    await erase(event.accountId, event.id);
    expect(await dataOf(event)).toEqual([{ data: null, erased: true }]);
  });

  it('of an account takes all of it from there, nothing of another, and ends after that', async () => {
    const { move, eraseAccount, accountStore, movedStore, client } = await arrange();
    const { accountId } = await move();
    const other = await move();
    await move({ accountId });
    await movedStore.raiseMovedUntil(accountId, { acceptedAt: NOW, attemptAt: NOW })(client);
    await accountStore.create({ id: accountId, createdAt: NOW, weight: 1 });
    await accountStore.markErasing(accountId, NOW - 80_000);

    await history.server.kill();
    await expect(eraseAccount(accountId)).rejects.toMatchObject({ code: 'history_unavailable' });
    expect(await accountStore.find(accountId)).toBeDefined();

    await history.server.start();
    await eraseAccount(accountId);
    expect(await rowsOf(accountId)).toEqual([]);
    expect(await rowsOf(other.accountId)).not.toEqual([]);
    expect(await accountStore.find(accountId)).toBeUndefined();
    const left = (await client.keys('*')).filter((key) => key.includes(`{${accountId}`));
    expect(left).toEqual([]);
    expect(await client.exists(keys.movedUntil(accountId), keys.attemptsMovedUntil(accountId))).toBe(0);
  });
});
