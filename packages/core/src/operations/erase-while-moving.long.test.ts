import { EventEmitter, once } from 'node:events';
import type { PoolClient } from 'pg';
import { AccountStore } from '../accounts/redis-account-store';
import { keys } from '../domain/keys';
import { oneShard } from '../domain/queues';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { PgDatabase } from '../history/database/pg-database';
import { HistoryWriter } from '../history/database/pg-history-writer';
import { Rehydration } from '../history/mover/rehydration';
import { ScheduledEvents } from '../publish/scheduled-events';
import type { AccountJobs } from '../queue/bullmq-account-jobs';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { EventQueue } from '../queue/bullmq-event-queue';
import { atomicStepByStep } from '../testing/build-atomic';
import { fake } from '../testing/fake';
import {
  type ArrangedEvent,
  DELIVERED,
  EXHAUSTED,
  MOVE_AFTER_MS,
  MovingScene,
} from '../testing/moving-scene';
import { noOrder } from '../testing/no-order';
import { type OpenedPublishingParts, openPublishingParts } from '../testing/open-publishing-parts';
import { hasPostgres, NO_POSTGRES } from '../testing/postgres-server';
import { openTestHistory, type TestHistory } from '../testing/test-history';
import { testSealer } from '../testing/test-sealer';
import { AccountErasure, type AccountErasureParts, type ErasureCursor } from './erase-account';
import { PayloadErasure, type PayloadErasureParts } from './erase-payload';
import { RemainsStore } from './redis-remains-store';

/*
 * An erasure comes between any two steps of what moves, or of what comes back, and the other way round. Real
 * Redis, real PostgreSQL.
 */

if (!hasPostgres) console.warn(`SKIPPED: erasures of what moves, because ${NO_POSTGRES}.`);

/** As in an answer of `EXHAUSTED`. */
const ANSWER = 'oh no';
const RETENTION_MS = 86_400_000;

/** Counts the steps of a process, and does something else before one of them. */
class Interruption {
  steps = 0;

  constructor(
    private readonly at: number,
    private readonly work: () => Promise<unknown>,
  ) {}

  watch<Target extends object>(target: Target): Target {
    return new Proxy(target, {
      get: (_target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]) => {
          await this.next();
          return await (Reflect.apply(method, target, args) as Promise<unknown>);
        };
      },
    });
  }

  async next(): Promise<void> {
    this.steps += 1;
    if (this.steps === this.at) await this.work();
  }

  /** Whether it was to come after all of them. */
  get isBeyond(): boolean {
    return this.steps < this.at;
  }
}

(hasPostgres ? describe : describe.skip)('an erasure', () => {
  let test: TestHistory;
  let scene: MovingScene;
  let eventQueue: EventQueue;
  let publishingParts: OpenedPublishingParts;
  beforeAll(async () => {
    test = await openTestHistory();
    scene = await MovingScene.open();
    eventQueue = new EventQueue(scene.redis.client, oneShard('bull'));
    publishingParts = openPublishingParts(scene.redis.client);
  });
  afterAll(async () => {
    await scene.close();
    await test.close();
  });

  const nothing = new Interruption(0, async () => {});

  /** Each step by itself, as in a Cluster. */
  function movingParts(interruption = nothing) {
    const atomic = atomicStepByStep(scene.redis.client, () => interruption.next());
    const historyWriter = interruption.watch(new HistoryWriter(test.database, () => scene.now));
    return { historyWriter, atomic };
  }

  const move = (interruption = nothing) => scene.moveAfter(MOVE_AFTER_MS, movingParts(interruption));

  async function bringBack({ event, endpointIds }: ArrangedEvent, interruption = nothing): Promise<void> {
    const { accountId, id: eventId, acceptedAt: createdAt } = event;
    const wanted = endpointIds.map((endpointId) => ({ eventId, createdAt, endpointId }));
    const rehydration = new Rehydration({
      ...scene.parts,
      ...movingParts(interruption),
      pgHistory: interruption.watch(test.history),
    });
    await rehydration.bringBack(accountId, wanted);
    await new Rehydration(scene.parts).end(accountId, wanted);
  }

  const erase = ({ event }: ArrangedEvent, interruption = nothing) =>
    new PayloadErasure(
      fake<PayloadErasureParts>({
        ...noOrder,
        scheduledEvents: new ScheduledEvents({
          ...publishingParts,
          eventStore: interruption.watch(scene.eventStore),
          clock: () => scene.now,
        }),
        eventStore: interruption.watch(scene.eventStore),
        deliveryStore: interruption.watch(scene.deliveryStore),
        eventQueue,
        movedIds: interruption.watch(scene.movedIds),
        movedStore: interruption.watch(scene.movedStore),
        historyDatabase: interruption.watch(test.database),
        // What is remembered of a payload is not looked at here.
        wait: async () => {},
        clock: () => scene.now,
        emit: () => {},
      }),
    ).erase(event.accountId, event.id);

  async function arrange(hasMoved: boolean): Promise<ArrangedEvent> {
    await scene.redis.client.flushdb();
    const arranged = await scene.arrange([[EXHAUSTED], [DELIVERED], [EXHAUSTED]]);
    if (hasMoved) await move();
    return arranged;
  }

  /** Where those who read the tables find the payload, or an answer. */
  const payloadsInHistory = ({ event }: ArrangedEvent) =>
    test.server.query(
      `SELECT 'event' AS found FROM webhook_events WHERE event_id = $1 AND data IS NOT NULL UNION ALL
       SELECT 'attempt' FROM webhook_attempts WHERE event_id = $1 AND response_body IS NOT NULL`,
      [event.id],
    );

  /** Check that neither side has the payload, or an answer. */
  async function expectErased(arranged: ArrangedEvent): Promise<void> {
    const { event, endpointIds } = arranged;
    const { accountId, id: eventId } = event;
    const text = await scene.redis.client.get(keys.event(accountId, eventId));
    expect(text ?? ',"erased_at":0}\n').toMatch(/,"erased_at":\d+\}\n$/);
    const logs = await Promise.all(
      endpointIds.map((endpointId) => scene.logInRedis({ eventId, endpointId })),
    );
    expect(logs.join('')).not.toContain(ANSWER);
    expect(await payloadsInHistory(arranged)).toEqual([]);
    if (text !== null) return;
    expect(
      await test.server.query(
        `SELECT data, erased_at IS NOT NULL AS is_erased FROM webhook_events WHERE event_id = $1`,
        [eventId],
      ),
    ).toEqual([{ data: null, is_erased: true }]);
  }

  /** As `expectErased`, once all has moved. */
  async function expectErasedForGood(arranged: ArrangedEvent): Promise<void> {
    for (let i = 0; i < 20 && (await scene.endedList.count()) > 0; i += 1) await move();
    expect(await scene.keysLeft()).toEqual([]);
    await expectErased(arranged);
    const answers = await test.server.query(
      `SELECT response_body FROM webhook_attempts WHERE event_id = $1`,
      [arranged.event.id],
    );
    expect(answers).toEqual(arranged.endpointIds.map(() => ({ response_body: null })));
  }

  type Work = (arranged: ArrangedEvent, interruption?: Interruption) => Promise<unknown>;
  const movesAway: Work = (_arranged, interruption) => move(interruption);

  const races: readonly [name: string, hasMoved: boolean, whole: Work, between: Work][] = [
    ['of a payload while it moves', false, movesAway, erase],
    ['of a payload, which moves meanwhile', false, erase, movesAway],
    ['of a payload while it comes back', true, bringBack, erase],
    ['of a payload, which comes back meanwhile', true, erase, bringBack],
  ];

  it.each(races)(
    '%s leaves nothing of it anywhere, whenever it comes',
    async (_name, hasMoved, whole, between) => {
      let at = 1;
      for (; ; at += 1) {
        const arranged = await arrange(hasMoved);
        const interruption = new Interruption(at, () => between(arranged));
        await whole(arranged, interruption);
        if (interruption.isBeyond) break;
        await expectErased(arranged);
        await expectErasedForGood(arranged);
      }
      expect(at).toBeGreaterThan(4);
    },
  );

  async function eraseAccount({ event: { accountId } }: ArrangedEvent): Promise<void> {
    const accountStore = new AccountStore(scene.redis.client);
    await accountStore.create({ id: accountId, createdAt: 1, weight: 1 });
    await accountStore.markErasing(accountId, scene.now);
    scene.erasing.add(accountId);
    const erasure = new AccountErasure(
      fake<AccountErasureParts>({
        accountStore,
        endpointStore: new EndpointStore(scene.redis.client, testSealer),
        remainsStore: new RemainsStore(scene.redis.client, oneShard('bull')),
        deliveryQueue: fake<DeliveryQueue>({ removeIdle: async () => [] }),
        accountJobs: fake<AccountJobs>({ removeSome: async () => undefined }),
        movedIds: scene.movedIds,
        endedList: scene.endedList,
        historyDatabase: test.database,
        retention: { ageMs: RETENTION_MS },
        clock: () => scene.now,
        emit: () => {},
      }),
    );
    let cursor: ErasureCursor | undefined;
    for (;;) {
      const result = await erasure.step(accountId, cursor);
      if (result.kind === 'done') return;
      scene.now += result.delayMs;
      cursor = result.cursor ?? cursor;
    }
  }

  /** A writer whose commit waits until `goOn` is called. */
  async function withSlowCommit() {
    const commits = new EventEmitter();
    const [written, goesOn] = [once(commits, 'written'), once(commits, 'go on')];
    class SlowDatabase extends PgDatabase {
      override async transact<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
        return await super.transact(async (client) => {
          const result = await work(client);
          const { rowCount } = await client.query('SELECT FROM webhook_events');
          if (rowCount && commits.emit('written')) await goesOn;
          return result;
        });
      }
    }
    const { url } = test.server;
    const database = new SlowDatabase({ url, applicationName: 'slow', readers: 1, writers: 2 });
    const historyWriter = new HistoryWriter(database, () => scene.now);
    return { database, historyWriter, written, goOn: () => commits.emit('go on') };
  }

  async function untilWaiting(): Promise<void> {
    const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    while ((await test.server.query(waiting)).length === 0);
  }

  it.each([
    ['a payload', erase],
    ['an account', eraseAccount],
  ])('of %s waits for what is being written, however long its commit takes', async (_name, erases) => {
    await test.server.query('TRUNCATE webhook_events, webhook_deliveries, webhook_attempts');
    const arranged = await arrange(false);
    const { database, historyWriter, written, goOn } = await withSlowCommit();
    const moving = scene.moveAfter(MOVE_AFTER_MS, { ...movingParts(), historyWriter });
    await written;
    const erasing = erases(arranged);
    await Promise.race([erasing, untilWaiting()]);
    goOn();
    await Promise.all([erasing, moving]);
    expect(await payloadsInHistory(arranged)).toEqual([]);
    await database.close();
  });

  it.each([
    ['while some of it moves', false, movesAway],
    ['while some of it comes back', true, bringBack],
  ] as const)('of an account %s leaves nothing of it anywhere', async (_name, hasMoved, whole) => {
    let at = 1;
    for (; ; at += 1) {
      const arranged = await arrange(hasMoved);
      const { accountId } = arranged.event;
      const interruption = new Interruption(at, () => eraseAccount(arranged));
      // It may find nothing any more of what it was about to write.
      await whole(arranged, interruption).catch(() => {});
      if (interruption.isBeyond) break;
      expect(
        await test.server.query(
          `SELECT 'e' FROM webhook_events WHERE account_id = $1 UNION ALL SELECT 'd' FROM webhook_deliveries
           WHERE account_id = $1 UNION ALL SELECT 'a' FROM webhook_attempts WHERE account_id = $1`,
          [accountId],
        ),
      ).toEqual([]);
    }
    expect(at).toBeGreaterThan(4);
  });
});
