import type { EndpointId } from '@hookferry/core/domain/endpoint';
import { keys, queueKeysOf } from '@hookferry/core/domain/keys';
import { createQueueLayout } from '@hookferry/core/domain/queues';
import type { ManagedProcess } from '../support/managed-process';
import { groupOf, publishWithoutEnd } from '../support/publish-without-end';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const PAUSE_MS = 30;
const HEALTHY = 8;
const HELD_AT = 24;
const HELD_EACH = 40;
const FAILS_EVERY = 8;
const PATIENCE_MS = 300_000;

const FIRST_PREFIX = 'bull';
const { shardOf } = createQueueLayout(4, FIRST_PREFIX);

/** Everything that BullMQ has of a delivery, and every entry of one that is held. */
const LEFT_OVERS = [
  '*:deliveries:reshard-*',
  'held:*',
  'lane:*',
  'carried:*',
  'batches:*',
  'sending:*',
  'order:*',
  'turn:*',
  'lines:*',
  'grouped:*',
  'ready:*',
];

let stack: Stack;
let receivers: Receiver[];
afterEach(async () => {
  await stack.stop();
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});

const eventIds = ({ requests }: Pick<Receiver, 'requests'>) => requests.flatMap(idsOf);

/** Those that it has not refused, if it fails now and then. */
const takenAt = ({ requests }: Receiver) =>
  eventIds({ requests: requests.filter((_request, i) => (i + 1) % FAILS_EVERY !== 0) });

/** One, or all of a batch. */
function idsOf({ headers, body }: ReceivedRequest): readonly string[] {
  const id = String(headers['webhook-id']);
  if (!id.startsWith('batch_')) return [id];
  return (JSON.parse(body.toString()) as { data: { id: string }[] }).data.map((event) => event.id);
}

async function register(receiver: Receiver, more: object = {}): Promise<string> {
  receivers.push(receiver);
  const webhook = { url: receiver.url, events: ['*'], ...more };
  return (await stack.client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', webhook)).body.id;
}

/** One whose home among the four shards is not the first, where all of it is before. */
async function registerToMove(receiver: Receiver): Promise<EndpointId> {
  receivers.push(receiver);
  for (;;) {
    const { id } = await stack.client.register(receiver.url);
    if (shardOf(id).prefix !== FIRST_PREFIX) return id as EndpointId;
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  }
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
    const strict = await Receiver.start();
    await register(strict, { ordering: 'strict' });
    const grouped = await Receiver.start();
    await register(grouped, { ordering: 'group' });
    await register(await Receiver.start(), { rate_limit: 28 });
    const failing = await Receiver.start((_request, count) => (count % FAILS_EVERY === 0 ? 500 : 204));
    await register(failing);
    await register(await Receiver.start(), { batch: { max_events: 5, max_wait_ms: 200 } });
    const failingBatches = await Receiver.start((_request, count) => (count % FAILS_EVERY === 0 ? 500 : 204));
    await register(failingBatches, { batch: { max_events: 5 } });
    const heldId = await registerToMove(await Receiver.start());
    await stack.client.expect(200, 'POST', `/v1/webhooks/${heldId}/disable`);

    const load = publishWithoutEnd(stack.client, 'reshard', PAUSE_MS, strict);
    const [early, late] = stack.workers;
    await load.untilAccepted(50);
    const splitting = await stack.startWorker({ QUEUE_SHARDS: '4' });
    await early?.end('SIGTERM');
    await untilInForce(4, stack.api, splitting);
    await late?.end('SIGTERM');
    // All that is held has come to its shard, and is released from there.
    const heldAtHome = queueKeysOf(shardOf(heldId).prefix).held(heldId);
    await until(async () => ((await keysOf(heldAtHome)).length > 0 ? true : undefined));
    await stack.client.expect(200, 'POST', `/v1/webhooks/${heldId}/enable`);
    await untilInForce(1, stack.api, splitting, await stack.startWorker({ QUEUE_SHARDS: '1' }));
    await load.stop();

    for (const receiver of receivers) {
      await until(async () => {
        const received = new Set(eventIds(receiver));
        return load.accepted.every((id) => received.has(id)) ? true : undefined;
      });
    }
    for (const receiver of receivers.filter((one) => one !== failing && one !== failingBatches)) {
      expect(eventIds(receiver).toSorted()).toEqual(load.accepted);
    }
    for (const receiver of [failing, failingBatches]) {
      // What it has refused last may have its next attempt still to come.
      await until(async () => (takenAt(receiver).length >= load.accepted.length ? true : undefined));
      expect(takenAt(receiver).toSorted()).toEqual(load.accepted);
    }
    expect(eventIds(strict)).toEqual(load.accepted);
    expect(byGroup(eventIds(grouped))).toEqual(byGroup(load.accepted));
    await until(async () => ((await keysOf(...LEFT_OVERS)).length === 0 ? true : undefined));
    const output = [stack.api, ...stack.workers].map((part) => part.output).join('\n');
    expect(output).not.toMatch(/"(?:job|request|task)\.failed"/);
  },
  PATIENCE_MS,
);

it(
  'keeps the order of groups while the queues are split anew twice under load: each event, several in a request, the newest alone',
  async () => {
    receivers = [];
    stack = await Stack.start({
      workers: 2,
      environment: { RETRY_SCHEDULE: Array(40).fill('300ms').join() },
    });
    // Several of each: some of them have another home shard after each change.
    const registerSome = async (more: object) => {
      const some: Receiver[] = [];
      for (let i = 0; i < 3; i += 1) {
        const receiver = await Receiver.start((_request, count) => (count % FAILS_EVERY === 0 ? 500 : 204));
        await register(receiver, { ordering: 'group', ...more });
        some.push(receiver);
      }
      return some;
    };
    const alone = await registerSome({});
    const batched = await registerSome({ batch: { max_events: 5, max_wait_ms: 100 } });
    const coalesced = await registerSome({ coalesce: { window_ms: 100 } });

    const load = publishWithoutEnd(stack.client, 'reshard', PAUSE_MS, alone[0]);
    const [early, late] = stack.workers;
    await load.untilAccepted(50);
    const splitting = await stack.startWorker({ QUEUE_SHARDS: '3' });
    await early?.end('SIGTERM');
    await untilInForce(3, stack.api, splitting);
    await late?.end('SIGTERM');
    await load.untilAccepted(load.accepted.length + 50);
    const joining = await stack.startWorker({ QUEUE_SHARDS: '2' });
    await untilInForce(2, stack.api, splitting, joining);
    await load.untilAccepted(load.accepted.length + 50);
    await load.stop();

    const expected = byGroup(load.accepted);
    for (const receiver of [...alone, ...batched]) {
      await until(async () => (takenAt(receiver).length >= load.accepted.length ? true : undefined));
      expect(takenAt(receiver).toSorted()).toEqual(load.accepted);
      expect(byGroup([...new Set(eventIds(receiver))])).toEqual(expected);
    }
    const newest = Object.values(expected).map((ids) => ids.at(-1) ?? '');
    for (const receiver of coalesced) {
      await until(async () => (newest.every((id) => takenAt(receiver).includes(id)) ? true : undefined));
    }
    await until(async () => ((await keysOf(...LEFT_OVERS)).length === 0 ? true : undefined));
    for (const receiver of coalesced) {
      expect(new Set(takenAt(receiver)).size).toBe(takenAt(receiver).length);
      for (const ids of Object.values(byGroup([...new Set(eventIds(receiver))]))) {
        expect(ids).toEqual(ids.toSorted());
      }
    }
    const output = [stack.api, ...stack.workers].map((part) => part.output).join('\n');
    expect(output).not.toMatch(/"(?:job|request|task)\.failed"/);
  },
  PATIENCE_MS,
);

it(
  'loses and repeats nothing of what is held when the worker that brings it to its shards is killed in the middle',
  async () => {
    receivers = [await Receiver.start()];
    stack = await Stack.start({ workers: 2, environment: { JOB_LOCK_DURATION: '2s' } });
    const [receiver] = receivers as [Receiver];
    const ids: string[] = [];
    for (let i = 0; i < HELD_AT; i += 1) {
      const { id } = await stack.client.register(`${receiver.url}/${i}`);
      await stack.client.expect(200, 'POST', `/v1/webhooks/${id}/disable`);
      ids.push(id);
    }
    const load = publishWithoutEnd(stack.client, 'reshard', PAUSE_MS);
    await load.untilAccepted(HELD_EACH);
    await load.stop();
    const splitting = await stack.startWorker({ QUEUE_SHARDS: '4' });

    const owner = await until(async () => {
      const workerId = await stack.redis.client.get(keys.resharding);
      const hasBegun = (await keysOf('{bull-*}:deliveries:reshard-*')).length > 0;
      return hasBegun && workerId !== null ? workerId : undefined;
    });
    const doomed = stack.workers.find(({ output }) => output.includes(`worker ${owner}`));
    expect(await doomed?.end('SIGKILL')).toBeNull();
    expect(await countMisplaced()).toBeGreaterThan(0);

    await until(async () => ((await countMisplaced()) === 0 ? true : undefined));
    for (const id of ids) await stack.client.expect(200, 'POST', `/v1/webhooks/${id}/enable`);
    const received = await receiver.waitFor(HELD_AT * load.accepted.length);
    const arrivals = received.map(({ path, headers }) => `${path} ${String(headers['webhook-id'])}`);
    expect(new Set(arrivals).size).toBe(arrivals.length);
    await until(async () => ((await keysOf(...LEFT_OVERS)).length === 0 ? true : undefined));
    expect(receiver.requests).toHaveLength(HELD_AT * load.accepted.length);
    expect(splitting.output).not.toMatch(/"task\.failed"/);
  },
  PATIENCE_MS,
);

function byGroup(ids: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const groups: Record<string, string[]> = {};
  for (const id of ids) (groups[groupOf(id)] ??= []).push(id);
  return groups;
}

/** Deliveries that are in the first shard still, and belong to another one. */
async function countMisplaced(): Promise<number> {
  const jobs = await keysOf('bull:deliveries:reshard-*');
  return jobs.filter((job) => shardOf(job.split('.')[1] ?? '').prefix !== FIRST_PREFIX).length;
}

async function keysOf(...patterns: readonly string[]): Promise<readonly string[]> {
  return (await Promise.all(patterns.map((pattern) => stack.redis.client.keys(pattern)))).flat();
}
