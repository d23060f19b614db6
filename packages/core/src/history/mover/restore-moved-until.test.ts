import { EventEmitter } from 'node:events';
import type { OpenAccounts } from '../../accounts/open-accounts';
import { MovedStore } from '../../events/redis-moved';
import { atomicAsOne } from '../../platform/redis-atomic';
import { buildAcceptedAttempt } from '../../testing/build-attempt';
import { buildMovedDelivery, buildMovedEvent } from '../../testing/build-moved-event';
import { fake } from '../../testing/fake';
import { hasPostgres, NO_POSTGRES } from '../../testing/postgres-server';
import { recordSignals } from '../../testing/record-signals';
import { openTestHistory, type TestHistory } from '../../testing/test-history';
import { openTestRedis, type TestRedis } from '../../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../../testing/unique-ids';
import { HistoryWriter } from '../database/pg-history-writer';
import type { MoverParts } from './mover-parts';
import { MovedUntilRestore } from './restore-moved-until';

if (!hasPostgres) console.warn(`SKIPPED: until when records have moved, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const NOW = Date.UTC(2026, 10, 24, 12);
const DAY_MS = 86_400_000;

describePostgres('until when records have moved', () => {
  let history: TestHistory;
  let redis: TestRedis;
  let movedStore: MovedStore;
  const reconnects = new EventEmitter();
  const running: MovedUntilRestore[] = [];
  const erased = new Set<string>();
  beforeAll(async () => {
    history = await openTestHistory();
    redis = await openTestRedis();
    movedStore = new MovedStore(redis.client, { ageMs: DAY_MS });
  });
  afterEach(() => Promise.all(running.splice(0).map((one) => one.stop())));
  afterAll(async () => {
    await redis.close();
    await history.close();
  });

  const build = () => {
    const { listen } = recordSignals();
    const one = new MovedUntilRestore(
      fake<MoverParts>({
        historyDatabase: history.database,
        movedStore,
        atomic: atomicAsOne(redis.client),
        openAccounts: fake<OpenAccounts>({
          find: async (id) => (erased.has(id) ? undefined : { historyDays: undefined }),
        }),
        redis: reconnects as never,
        emit: listen,
      }),
    );
    running.push(one);
    return one;
  };

  const deliveredAt = (startedAt: number) =>
    buildMovedDelivery(uniqueEndpointId(), [
      { kind: 'attempted', attempt: buildAcceptedAttempt({ startedAt }), nextAttemptAt: undefined },
    ]);

  async function move(...times: readonly number[]) {
    const accountId = uniqueAccountId();
    const writer = new HistoryWriter(history.database, () => NOW);
    const events = times.map((createdAt) =>
      buildMovedEvent({ accountId, createdAt, deliveries: [deliveredAt(createdAt + 300)] }),
    );
    await writer.write(events, Number.POSITIVE_INFINITY);
    return accountId;
  }

  it('is told to a Redis that is older than what has moved, for each account', async () => {
    const one = await move(NOW - 2 * DAY_MS, NOW - 5_000, NOW - 9_000);
    const other = await move(NOW - DAY_MS);
    await movedStore.raiseMovedUntil(one, { acceptedAt: NOW - 60_000, attemptAt: NOW })(redis.client);
    await build().runOnce();
    expect(await movedStore.movedUntil(one)).toBe(NOW - 5_000);
    expect(await movedStore.movedUntil(other)).toBe(NOW - DAY_MS);
    // To the minute.
    expect(await movedStore.attemptsMovedUntil(other)).toBe(NOW - DAY_MS + 59_999);
  });

  it('is never taken back', async () => {
    const accountId = await move(NOW - 5_000);
    await movedStore.raiseMovedUntil(accountId, { acceptedAt: NOW, attemptAt: NOW })(redis.client);
    await build().runOnce();
    expect(await movedStore.movedUntil(accountId)).toBe(NOW);
  });

  it('is not told of an account that is erased', async () => {
    const accountId = await move(NOW - 5_000);
    erased.add(accountId);
    await build().runOnce();
    expect(await movedStore.movedUntil(accountId)).toBeUndefined();
  });

  it('is told at the start, and whenever Redis is connected to anew', async () => {
    const accountId = await move(NOW - 5_000);
    build().start();
    await untilMoved(accountId, NOW - 5_000);
    await redis.client.flushdb();
    expect(await movedStore.movedUntil(accountId)).toBeUndefined();
    reconnects.emit('ready');
    await untilMoved(accountId, NOW - 5_000);
  });

  async function untilMoved(
    accountId: Parameters<MovedStore['movedUntil']>[0],
    movedUntil: number,
  ): Promise<void> {
    while ((await movedStore.movedUntil(accountId)) !== movedUntil);
  }
});
