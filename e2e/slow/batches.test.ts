import { EventEmitter, once } from 'node:events';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

const SHARDS = 2;
const WEBHOOKS = 6;
const EVENTS = 20;
// The work of a killed worker is taken over after up to twice as long.
const LOCK_DURATION = '2s';
const PATIENCE_MS = 90_000;

let stack: Stack;
const receivers: Receiver[] = [];
beforeEach(async () => {
  const environment = { QUEUE_SHARDS: String(SHARDS), JOB_LOCK_DURATION: LOCK_DURATION };
  stack = await Stack.start({ workers: 2, environment });
});
afterEach(async () => {
  await stack.stop();
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});

/** Webhooks in all shards, each with a receiver that responds to its first request when it is told to. */
async function registerAll(first: Promise<number>) {
  const webhooks = Array.from({ length: WEBHOOKS }, async () => {
    const receiver = await Receiver.start((_request, count) => (count === 1 ? first : 204));
    receivers.push(receiver);
    const batch = { max_events: EVENTS, max_wait_ms: 1_000 };
    const { id } = await stack.client.register(receiver.url, ['*'], { batch });
    return { id, receiver };
  });
  return await Promise.all(webhooks);
}

async function publish(): Promise<readonly string[]> {
  const events = Array.from({ length: EVENTS }, () => QUICK_WIN);
  const { body } = await stack.client.expect<{ data: { id: string }[] }>(207, 'POST', '/v1/events/batch', {
    events,
  });
  return body.data.map(({ id }) => id);
}

const factsOf = ({ headers, body }: ReceivedRequest) => [headers['webhook-id'], body.toString()];

it.each([
  ['one of two workers dies', 1],
  ['all workers die', 2],
])(
  'sends what was under way again as it was, when %s',
  async (_what, killed) => {
    const isToRespond = new EventEmitter();
    const webhooks = await registerAll(once(isToRespond, 'now').then(() => 204));
    const events = await publish();
    await Promise.all(webhooks.map(({ receiver }) => receiver.waitFor(1)));
    const victims = stack.workers.splice(0, killed);
    await Promise.all(victims.map((worker) => worker.end('SIGKILL')));
    // Those of a worker that lives come once.
    isToRespond.emit('now');
    await Promise.all(victims.map(() => stack.startWorker()));
    for (const { id, receiver } of webhooks) {
      for (const event of events) await stack.client.waitForStatus(id, event, 'delivered');
      const [first, ...others] = receiver.requests.map(factsOf);
      expect(JSON.parse(String(first?.[1])).data).toHaveLength(EVENTS);
      for (const other of others) expect(other).toEqual(first);
      expect([killed, 2]).toContain(receiver.requests.length);
    }
  },
  PATIENCE_MS,
);
