import type { ManagedProcess } from './support/managed-process';
import { publishWithoutEnd } from './support/publish-without-end';
import { Receiver } from './support/receiver';
import { Stack } from './support/stack';
import { until } from './support/until';

const PAUSE_MS = 30;
const HEALTHY = 8;
const PATIENCE_MS = 120_000;

/** Everything that BullMQ has of a delivery, and every entry of one that is held. */
const LEFT_OVERS = ['*:deliveries:reshard-*', 'held:*', 'sending:*'];

let stack: Stack;
let receivers: Receiver[];
afterEach(async () => {
  await stack.stop();
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});

const eventIds = ({ requests }: Receiver) => requests.map(({ headers }) => String(headers['webhook-id']));

async function register(receiver: Receiver, more: object = {}): Promise<string> {
  receivers.push(receiver);
  const webhook = { url: receiver.url, events: ['*'], ...more };
  return (await stack.client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook)).body.id;
}

/** By what the processes say. */
async function untilInForce(count: number, ...parts: readonly ManagedProcess[]): Promise<void> {
  await Promise.all(
    parts.map((part) =>
      part.waitForLine((line) => line.message === 'shards.changed' && line.in_force === count),
    ),
  );
}

it(
  'loses and repeats nothing when the queues are split anew under load, and put together again',
  async () => {
    receivers = [];
    stack = await Stack.start({
      workers: 2,
      environment: { RETRY_SCHEDULE: Array(40).fill('700ms').join() },
    });
    for (let i = 0; i < HEALTHY; i += 1) await register(await Receiver.start());
    await register(await Receiver.start(), { ordering: 'strict' });
    await register(await Receiver.start(), { rate_limit: 28 });
    const failing = await Receiver.start((_request, count) => (count % 8 === 0 ? 500 : 204));
    await register(failing);
    const heldId = await register(await Receiver.start());
    await stack.client.expect(200, 'POST', `/v1/webhooks/${heldId}/disable`);

    const load = publishWithoutEnd(stack.client, 'reshard', PAUSE_MS);
    const [early, late] = stack.workers;
    await load.untilAccepted(50);
    const splitting = await stack.startWorker({ QUEUE_SHARDS: '4' });
    await early?.end('SIGTERM');
    await untilInForce(4, stack.api, splitting);
    await late?.end('SIGTERM');
    // All that is held has come to its shard, and is released from there.
    await until(async () => ((await keysOf('held:{bull-*')).length > 0 ? true : undefined));
    await stack.client.expect(200, 'POST', `/v1/webhooks/${heldId}/enable`);
    await untilInForce(1, stack.api, splitting, await stack.startWorker({ QUEUE_SHARDS: '1' }));
    await load.stop();

    for (const receiver of receivers) {
      await until(async () => {
        const received = new Set(eventIds(receiver));
        return load.accepted.every((id) => received.has(id)) ? true : undefined;
      });
    }
    for (const receiver of receivers.filter((one) => one !== failing)) {
      expect(eventIds(receiver).toSorted()).toEqual(load.accepted);
    }
    expect(failing.requests.filter((_request, i) => (i + 1) % 8 !== 0)).toHaveLength(load.accepted.length);
    const strict = receivers[HEALTHY];
    expect(strict && eventIds(strict)).toEqual(load.accepted);
    await until(async () => ((await keysOf(...LEFT_OVERS)).length === 0 ? true : undefined));
    const output = [stack.api, ...stack.workers].map((part) => part.output).join('\n');
    expect(output).not.toMatch(/"(?:job|request|task)\.failed"/);
  },
  PATIENCE_MS,
);

async function keysOf(...patterns: readonly string[]): Promise<readonly string[]> {
  return (await Promise.all(patterns.map((pattern) => stack.redis.client.keys(pattern)))).flat();
}
