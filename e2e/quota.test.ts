import { Queue } from 'bullmq';
import { QUICK_WIN } from './support/samples';
import { Stack } from './support/stack';
import { until } from './support/until';

let stack: Stack;
let events: Queue;
beforeAll(async () => {
  // Less than an API key takes up.
  stack = await Stack.start({ environment: { ACCOUNT_QUOTA_BYTES: '2000' } });
  events = new Queue('events', { connection: stack.redis.client });
});
afterAll(async () => {
  await events.close();
  await stack.stop();
});

it('what is pushed for an account that stores as much as it may becomes a dead letter that says so', async () => {
  const { type, data } = QUICK_WIN;
  const letters = async () =>
    (await stack.client.expect<{ data: { reason: string }[] }>(200, 'GET', '/v1/dead-letters')).body.data;
  const [letter] = await until(async () => {
    await events.add(type, { account_id: 'default', type, data });
    const found = await letters();
    return found.length > 0 ? found : undefined;
  });
  expect(letter?.reason).toMatch(/^The account stores \d+ bytes and may store 2000/);
});
