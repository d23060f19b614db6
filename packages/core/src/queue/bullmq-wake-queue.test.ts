import { Queue } from 'bullmq';
import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { BullmqWakeQueue } from './bullmq-wake-queue';
import { GATES_QUEUE } from './queue-names';

// At the edge of a fine grain and of a coarse one.
const NOW = 1_700_000_000_000;

let redis: TestRedis;
let jobs: Queue;
beforeAll(async () => {
  redis = await openTestRedis();
  jobs = new Queue(GATES_QUEUE, { connection: redis.client });
});
afterEach(() => jobs.drain(true));
afterAll(async () => {
  await jobs.close();
  await redis.close();
});

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

function arrange({ now = NOW }: { now?: number } = {}) {
  const queue = willClose(new BullmqWakeQueue({ redis: redis.client, prefix: 'bull' }, () => now));
  const accountId = uniqueAccountId();
  const endpointId = uniqueEndpointId();
  return { accountId, endpointId, queue, wake: (at: number) => queue.wake(accountId, endpointId, at) };
}

/** How long each job waits, in milliseconds. */
async function readDelays(): Promise<number[]> {
  const [waiting, delayed] = await Promise.all([jobs.getWaiting(), jobs.getDelayed()]);
  return [...waiting, ...delayed].map(({ delay }) => delay).toSorted((a, b) => a - b);
}

it('asks for a look at one gate', async () => {
  const { wake, accountId, endpointId } = arrange();
  await wake(NOW + 1_000);
  expect((await jobs.getDelayed()).map(({ data, delay }) => ({ data, delay }))).toEqual([
    { data: { account_id: accountId, endpoint_id: endpointId }, delay: 1_000 },
  ]);
});

it('makes one job of the same moment, however many ask for it', async () => {
  const { wake } = arrange();
  await Promise.all([NOW + 901, NOW + 950, NOW + 1_000].map(wake));
  await wake(NOW + 1_000);
  expect(await readDelays()).toEqual([1_000]);
});

it('keeps moments apart that are a tenth of a second apart, if they are near', async () => {
  const { wake } = arrange();
  await wake(NOW + 1_000);
  await wake(NOW + 1_001);
  expect(await readDelays()).toEqual([1_000, 1_100]);
});

it('takes moments that are far for the same if they are within five seconds', async () => {
  const { wake } = arrange();
  for (const at of [5_001, 7_500, 10_000, 10_001]) await wake(NOW + at);
  expect(await readDelays()).toEqual([10_000, 15_000]);
});

it.each([0, 1, 4_999, 5_000, 5_001, 59_999])(
  'is never too early, nor much too late: in %i ms',
  async (ms) => {
    const now = NOW + 37;
    await arrange({ now }).wake(now + ms);
    const [delay = 0] = await readDelays();
    expect(delay).toBeGreaterThanOrEqual(ms);
    expect(delay).toBeLessThan(ms + (ms < 5_000 ? 100 : 5_000));
  },
);

it('has what is past looked at now', async () => {
  await arrange().wake(NOW - 60_000);
  expect(await jobs.getWaitingCount()).toBe(1);
});

it('keeps endpoints apart', async () => {
  await arrange().wake(NOW + 1_000);
  await arrange().wake(NOW + 1_000);
  expect(await readDelays()).toEqual([1_000, 1_000]);
});

it('asks Redis once for a moment to come, and again once that is over', async () => {
  let now = NOW;
  const queue = willClose(new BullmqWakeQueue({ redis: redis.client, prefix: 'bull' }, () => now));
  const [accountId, endpointId] = [uniqueAccountId(), uniqueEndpointId()];
  await queue.wake(accountId, endpointId, NOW + 1_000);
  await jobs.drain(true);
  await queue.wake(accountId, endpointId, NOW + 1_000);
  expect(await readDelays()).toEqual([]);
  now = NOW + 1_000;
  await queue.wake(accountId, endpointId, now);
  expect(await readDelays()).toEqual([0]);
});
