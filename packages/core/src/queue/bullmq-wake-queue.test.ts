import { Queue } from 'bullmq';
import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { BullmqWakeQueue } from './bullmq-wake-queue';
import { GATES_QUEUE } from './queue-names';

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

function arrange() {
  const queue = willClose(new BullmqWakeQueue({ redis: redis.client, prefix: 'bull' }, () => NOW));
  const accountId = uniqueAccountId();
  const endpointId = uniqueEndpointId();
  return { accountId, endpointId, queue, wake: (at: number) => queue.wake(accountId, endpointId, at) };
}

/** How long each job waits, in milliseconds. */
async function readDelays(): Promise<number[]> {
  const [waiting, delayed] = await Promise.all([jobs.getWaiting(), jobs.getDelayed()]);
  return [...waiting, ...delayed].map(({ delay }) => delay).toSorted((a, b) => a - b);
}

/** When an endpoint is looked at that is asked for at a time; after it, the next moment begins. */
async function firstDelay(wake: (at: number) => Promise<void>, at: number): Promise<number> {
  await wake(at);
  const [delay = Number.NaN] = await readDelays();
  return delay;
}

it('asks for a look at one gate', async () => {
  const { wake, accountId, endpointId } = arrange();
  await wake(NOW + 1_000);
  expect((await jobs.getDelayed()).map(({ data }) => data)).toEqual([
    { account_id: accountId, endpoint_id: endpointId },
  ]);
});

it('makes one job of the same moment, however many ask for it', async () => {
  const { wake } = arrange();
  const delay = await firstDelay(wake, NOW + 1_000);
  await Promise.all([delay - 99, delay - 50, delay].map((ms) => wake(NOW + ms)));
  await wake(NOW + delay);
  expect(await readDelays()).toEqual([delay]);
});

it('keeps moments apart that are a tenth of a second apart, if they are near', async () => {
  const { wake } = arrange();
  const delay = await firstDelay(wake, NOW + 1_000);
  await wake(NOW + delay + 1);
  expect(await readDelays()).toEqual([delay, delay + 100]);
});

it('takes moments that are far for the same if they are within five seconds', async () => {
  const { wake } = arrange();
  const delay = await firstDelay(wake, NOW + 10_000);
  for (const ms of [delay - 4_999, delay, delay + 1]) await wake(NOW + ms);
  expect(await readDelays()).toEqual([delay, delay + 5_000]);
});

it.each([0, 1, 4_999, 5_000, 5_001, 59_999])(
  'is never too early, nor much too late: in %i ms',
  async (ms) => {
    const delay = await firstDelay(arrange().wake, NOW + ms);
    expect(delay).toBeGreaterThanOrEqual(ms);
    expect(delay).toBeLessThan(ms + (ms < 5_000 ? 100 : 5_000));
  },
);

it('has what is past looked at now', async () => {
  expect(await firstDelay(arrange().wake, NOW - 60_000)).toBeLessThan(100);
});

it('has endpoints looked at one after the other, also when all are asked for at the same time', async () => {
  for (let i = 0; i < 50; i += 1) await arrange().wake(NOW + 10_000);
  const delays = await readDelays();
  expect(delays).toHaveLength(50);
  expect(new Set(delays).size).toBeGreaterThan(40);
});

it("asks Redis once for a moment that is far, and again when by another worker's clock it may be over", async () => {
  let now = NOW;
  const queue = willClose(new BullmqWakeQueue({ redis: redis.client, prefix: 'bull' }, () => now));
  const [accountId, endpointId] = [uniqueAccountId(), uniqueEndpointId()];
  await queue.wake(accountId, endpointId, NOW + 20_000);
  const [delay = Number.NaN] = await readDelays();
  // A worker whose clock is ahead has looked at the gate.
  await jobs.drain(true);
  await queue.wake(accountId, endpointId, NOW + delay);
  expect(await readDelays()).toEqual([]);
  now = NOW + delay - 4_900;
  await queue.wake(accountId, endpointId, now + 4_900);
  expect(await readDelays()).toHaveLength(1);
});
