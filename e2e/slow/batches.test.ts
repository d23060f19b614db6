import { EventEmitter, once } from 'node:events';
import { killWhilePublishing, untilNoLaneIsLeft } from '../support/kill-workers';
import { type ReceivedRequest, Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const SHARDS = 2;
const WEBHOOKS = 6;
const EVENTS = 20;
// The work of a killed worker is taken over after up to twice as long.
const LOCK_DURATION = '2s';
// Thousands of events.
const BIG_PATIENCE_MS = 450_000;

let stack: Stack;
let cluster: RedisCluster | undefined;
const receivers: Receiver[] = [];
beforeEach(async () => {
  const environment = { QUEUE_SHARDS: String(SHARDS), JOB_LOCK_DURATION: LOCK_DURATION };
  stack = await Stack.start({ workers: 2, environment });
});
afterEach(async () => {
  await stack.stop();
  await cluster?.remove();
  cluster = undefined;
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
])('sends what was under way again as it was, when %s', async (_what, killed) => {
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
});

const MANY = 3_000;
const PUBLISHED_AT_ONCE = 100;
const KILLS = 6;
const KILL_EVERY = 500;
const GROUPS = 8;
const FAILING_SHARE = 0.1;

it.each([
  ['none', 'one server'],
  ['strict', 'one server'],
  ['group', 'one server'],
  ['none', 'a Cluster'],
  ['strict', 'a Cluster'],
  ['group', 'a Cluster'],
] as const)(
  'delivers a backlog through killed workers, repeats each set as it was, and leaves nothing behind: order %s, %s',
  async (ordering, kind) => {
    await stack.stop();
    cluster = kind === 'a Cluster' ? await RedisCluster.start() : undefined;
    const environment = {
      RETRY_SCHEDULE: Array(20).fill('50ms').join(),
      JOB_LOCK_DURATION: LOCK_DURATION,
      ...(cluster && { REDIS_URL: cluster.url }),
    };
    stack = await Stack.start({ workers: 2, environment });
    const receiver = await Receiver.start(() => (Math.random() < FAILING_SHARE ? 500 : 204));
    receivers.push(receiver);
    const webhook = { url: receiver.url, events: ['*'], batch: { max_events: EVENTS }, ordering };
    await stack.client.expect(201, 'POST', '/v1/webhooks', webhook);
    const seen = () => new Set(receiver.requests.flatMap(eventsOf));
    const published = await killWhilePublishing(stack, {
      events: MANY,
      atOnce: PUBLISHED_AT_ONCE,
      groups: GROUPS,
      kills: KILLS,
      killEvery: KILL_EVERY,
      progress: () => receiver.requests.length,
      growth: 2,
    });
    await until(async () => (seen().size === MANY ? true : undefined));
    expect(seen()).toEqual(new Set(published));
    await untilNoLaneIsLeft(stack, cluster);
    const bodies = new Map<string, string>();
    for (const request of receiver.requests) {
      const [id, body] = factsOf(request).map(String);
      expect(bodies.get(id ?? '') ?? body).toBe(body);
      bodies.set(id ?? '', body ?? '');
    }
    // Nothing was refused in part: each event is in one set, however often that was sent. In a Cluster a worker may die between the
    // records of a set's deliveries.
    const sets = [...bodies.values()].map((body) => JSON.parse(body).data.length as number);
    const most = cluster ? MANY + KILLS * EVENTS : MANY;
    expect(sets.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(most);
    // Without an order, several requests are under way.
    const groupOf = new Map(published.map((id, i) => [id, ordering === 'group' ? i % GROUPS : 0]));
    for (const group of ordering === 'none' ? [] : new Set(groupOf.values())) {
      const ofGroup = (id: string) => groupOf.get(id) === group;
      expect([...seen()].filter(ofGroup)).toEqual(published.filter(ofGroup));
    }
    const ofOneGroup = (request: ReceivedRequest) =>
      new Set(eventsOf(request).map((id) => groupOf.get(id))).size === 1;
    expect(receiver.requests.every(ofOneGroup)).toBe(true);
  },
  BIG_PATIENCE_MS,
);

const eventsOf = ({ body }: ReceivedRequest) =>
  (JSON.parse(body.toString()).data as { id: string }[]).map(({ id }) => id);
