import { Receiver } from '../support/receiver';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const HANGING_ENDPOINTS = 100;
const SLOTS = 32;
// Half of the slots are all that strangers get; the others begin among the slow ones, of which there may be as many. Where the
// first have become slow before the last begin, as on a busy machine, they are among these.
const LEAST_UNDER_WAY = SLOTS;
const MOST_UNDER_WAY = SLOTS / 2 + SLOTS;

let stack: Stack;
beforeEach(async () => {
  stack = await Stack.start({
    environment: {
      WORKER_CONCURRENCY: String(SLOTS),
      WORKER_SLOW_CONCURRENCY: String(SLOTS),
      DELIVERY_TIMEOUT: '60s',
      SHUTDOWN_TIMEOUT: '200ms',
      RETRY_SCHEDULE: Array(20).fill('1s').join(),
    },
  });
});
afterEach(() => stack.stop());

it('delivers to a healthy endpoint at once while more endpoints hang than there are slots', async () => {
  const hanging = await Receiver.start(() => 'never');
  const healthy = await Receiver.start();
  await registerMany(hanging);
  await stack.client.register(healthy.url, [QUICK_WIN.type]);
  await publish(QUICK_WIN, 1);
  await stack.workers[0]?.waitForLine(({ message }) => message === 'delivery.ended');

  await publish(BRIEF, 1);
  await hanging.waitFor(LEAST_UNDER_WAY);
  await publish(BRIEF, 4);
  await publish(QUICK_WIN, 200);
  await healthy.waitFor(201);

  expect(hanging.requests.length).toBeLessThanOrEqual(MOST_UNDER_WAY);
  await Promise.all([hanging.stop(), healthy.stop()]);
});

it('loses nothing when a worker stops while all slots are taken by attempts that hang', async () => {
  let isResponding = false;
  const delivered = new Set<string>();
  const receiver = await Receiver.start(({ path, headers }) => {
    if (!isResponding) return 'never';
    delivered.add(`${path} ${String(headers['webhook-id'])}`);
    return 204;
  });
  await registerMany(receiver);
  await publish(BRIEF, 1);
  await receiver.waitFor(LEAST_UNDER_WAY);
  await publish(BRIEF, 2);

  expect(await stack.workers[0]?.end()).toBe(0);
  isResponding = true;
  await stack.startWorker();
  await until(async () => (delivered.size === 3 * HANGING_ENDPOINTS ? true : undefined));
  await receiver.stop();
});

async function registerMany(receiver: Receiver): Promise<void> {
  await Promise.all(
    Array.from({ length: HANGING_ENDPOINTS }, (_, i) =>
      stack.client.register(`${receiver.url}/${i}`, [BRIEF.type]),
    ),
  );
}

async function publish({ type, data }: typeof QUICK_WIN | typeof BRIEF, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => stack.client.publish(type, data)));
}
