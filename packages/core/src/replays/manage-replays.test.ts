import type { ReplayOrder } from '../domain/replay';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildReplayOrder } from '../testing/build-replay';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { cancelReplay, createReplay } from './manage-replays';
import { ReplayStore } from './redis-replay-store';

const DAY = 86_400_000;
const RUNNING = { code: 'replays_running' };

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/** An account with two endpoints. */
async function arrange() {
  let now = 1_700_000_000_000;
  let isAway = false;
  const endpointStore = new EndpointStore(redis.client, testSealer);
  const replayStore = new ReplayStore(redis.client, DAY);
  const one = buildEndpoint();
  const other = buildEndpoint({ accountId: one.accountId });
  await endpointStore.create(one);
  await endpointStore.create(other);
  const context = {
    endpointStore,
    replayStore,
    replayQueue: {
      async add() {
        if (isAway) throw new Error('no Redis');
      },
    },
    clock: () => now,
    emit: () => {},
  };
  return {
    context,
    replayStore,
    create: (change: Partial<ReplayOrder> = {}, { id } = one) =>
      createReplay(context, one.accountId, id, buildReplayOrder(change)),
    other,
    pass: (ms: number) => void (now += ms),
    setAway: (to: boolean) => void (isAway = to),
  };
}

it('lets an account have two replays at a time, to whichever webhooks, dry runs included', async () => {
  const { create, other } = await arrange();
  await create();
  await create({ isDryRun: true }, other);
  await expect(create()).rejects.toMatchObject(RUNNING);
  await expect(create({ isDryRun: true }, other)).rejects.toMatchObject(RUNNING);
});

it('takes the next one once one has ended, however that was', async () => {
  const { create, context, replayStore } = await arrange();
  const first = await create();
  const second = await create();
  await replayStore.save(first.id, { status: 'done', found: 0, enqueued: 0, erased: 0 });
  await create();
  await expect(create()).rejects.toMatchObject(RUNNING);
  await cancelReplay(context, second.accountId, second.id);
  await create();
  await expect(create()).rejects.toMatchObject(RUNNING);
});

it('counts one that is asked for again once', async () => {
  const { create } = await arrange();
  const { id } = await create();
  await create({ id });
  await create();
  await create({ id });
  await expect(create()).rejects.toMatchObject(RUNNING);
});

it('lets go of one soon that never came about', async () => {
  const { create, pass, setAway } = await arrange();
  setAway(true);
  await expect(create()).rejects.toThrow('no Redis');
  await expect(create()).rejects.toThrow('no Redis');
  setAway(false);
  await expect(create()).rejects.toMatchObject(RUNNING);
  pass(10_001);
  await create();
});
