import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { AccountId } from '../domain/account';
import { type DeliveryRequested, deliveryIdOf, type NewDelivery } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { createClosables } from '../testing/closables';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { readWaitingIds } from '../testing/waiting-jobs';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { FREE_STARTS, MAX_PRIORITY } from './fair-order';

const queueKeys = queueKeysOf('bull');

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

// A delivery that goes next goes with those at the same position: one of each other account of weight 1.
const FEW = 3;
const ADDED_AT_ONCE = 500;

const replay: DeliveryRequested = { requestId: 'rpl_1', trigger: 'replay', requestedAt: 1_700_000_000_000 };

interface Flow {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
}

/** An endpoint of its own account, unless that is given. */
function newFlow(accountId = uniqueAccountId()): Flow {
  return { accountId, endpointId: uniqueEndpointId() };
}

function newDelivery(flow: Flow): NewDelivery {
  return { ...flow, eventId: uniqueEventId() };
}

const repeat = <Value>(count: number, make: () => Value) => Array.from({ length: count }, make);

/** An empty queue of deliveries, and a worker that takes from it. */
async function arrange() {
  const { url, client } = willClose(await openTestRedis());
  const deliveryQueue = new DeliveryQueue(client, oneShard('bull'));
  const jobs = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  const worker = willClose(new Worker(DELIVERIES_QUEUE, null, { connection: client }));

  async function add(deliveries: readonly NewDelivery[]): Promise<readonly string[]> {
    for (let start = 0; start < deliveries.length; start += ADDED_AT_ONCE) {
      await deliveryQueue.addAll(deliveries.slice(start, start + ADDED_AT_ONCE));
    }
    return deliveries.map(deliveryIdOf);
  }

  /** Ids of the jobs that a worker takes next, one after the other; fewer when there are fewer. */
  async function take(count: number): Promise<readonly string[]> {
    const taken: string[] = [];
    while (taken.length < count) {
      const job = await worker.getNextJob('token', { block: false });
      if (!job) break;
      taken.push(job.id ?? '');
    }
    return taken;
  }

  return {
    url,
    client,
    deliveryQueue,
    jobs,
    worker,
    add,
    addTo: (flow: Flow, count: number) => add(repeat(count, () => newDelivery(flow))),
    take,
    waiting: () => readWaitingIds(client, jobs),
    priorityOf: async (jobId: string) => Number(await client.hget(jobs.toKey(jobId), 'priority')),
    setWeight: ({ accountId }: Flow, weight: number) =>
      client.hset(queueKeys.accountWeights, accountId, weight),
  };
}

/** How many of these jobs are an endpoint's. */
function countOf({ endpointId }: Flow, jobIds: readonly string[]): number {
  return jobIds.filter((id) => id.endsWith(`.${endpointId}`)).length;
}

/** Those of an endpoint, in their order. */
function only({ endpointId }: Flow, jobIds: readonly string[]): readonly string[] {
  return jobIds.filter((id) => id.endsWith(`.${endpointId}`));
}

describe('a delivery of an endpoint with nothing waiting', () => {
  it('goes next, however many others wait, again and again', async () => {
    const { addTo, take } = await arrange();
    const [busy, light] = [newFlow(), newFlow()];
    await addTo(busy, 5_000);
    for (let round = 0; round < 20; round += 1) {
      const [id] = await addTo(light, 1);
      expect(await take(FEW)).toContain(id);
    }
  });

  it('goes next while ten accounts have many waiting: each of them goes once before it at most', async () => {
    const { addTo, take } = await arrange();
    for (const busy of repeat(10, () => newFlow())) await addTo(busy, 200);
    await take(55);
    const [id] = await addTo(newFlow(), 1);
    expect((await take(11)).includes(id ?? '')).toBe(true);
  });

  it('does not wait for an event with 5,000 receivers of another account', async () => {
    const { add, addTo, take } = await arrange();
    const big = uniqueAccountId();
    await add(repeat(5_000, () => newDelivery(newFlow(big))));
    const light = newFlow();
    const ids = await addTo(light, 5);
    // The first few of an account are free, and go together.
    const taken = await take(FREE_STARTS + 2 * ids.length);
    expect(only(light, taken)).toEqual(ids);
    expect(taken.indexOf(ids[0] ?? '')).toBeLessThanOrEqual(FREE_STARTS + 1);
  });

  it('waits for no more than one round of its own account’s event with many receivers', async () => {
    const { add, addTo, waiting } = await arrange();
    const big = uniqueAccountId();
    const receivers = repeat(1_000, () => newFlow(big));
    const [first, second] = [await add(receivers.map(newDelivery)), await add(receivers.map(newDelivery))];
    const [id = ''] = await addTo(newFlow(big), 1);
    const order = await waiting();
    const rank = order.indexOf(id);
    expect(first.filter((each) => order.indexOf(each) > rank)).toEqual([]);
    expect(second.filter((each) => order.indexOf(each) < rank).length).toBeLessThanOrEqual(FREE_STARTS);
  });
});

describe('waiting deliveries', () => {
  it('go in the order in which they were added, within an endpoint', async () => {
    const { addTo, take } = await arrange();
    const [one, other] = [newFlow(), newFlow()];
    const added: string[] = [];
    const taken: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      added.push(...(await addTo(one, 10)));
      await addTo(other, round % 3);
      taken.push(...(await take(7)));
    }
    taken.push(...(await take(1_000)));
    expect(only(one, taken)).toEqual(added);
  });

  it('take turns between two accounts, whichever was first', async () => {
    const { addTo, take } = await arrange();
    const [first, second] = [newFlow(), newFlow()];
    await addTo(first, 300);
    await addTo(second, 300);
    const taken = await take(400);
    for (let end = 10; end <= taken.length; end += 10) {
      expect(Math.abs(countOf(first, taken.slice(0, end)) - end / 2)).toBeLessThanOrEqual(1);
    }
  });

  it('take turns between accounts first, and then between the endpoints of one', async () => {
    const { add, addTo, take } = await arrange();
    const many = uniqueAccountId();
    const endpoints = repeat(10, () => newFlow(many));
    const one = newFlow();
    for (let event = 0; event < 60; event += 1) await add(endpoints.map(newDelivery));
    await addTo(one, 600);
    const taken = await take(600);
    expect(Math.abs(countOf(one, taken) - 300)).toBeLessThanOrEqual(10);
    for (const endpoint of endpoints) expect(Math.abs(countOf(endpoint, taken) - 30)).toBeLessThanOrEqual(2);
  });

  // An endpoint that begins to wait has to wait for its turn only, not for all that others of its account
  // have waiting. So ten that are filled one after the other have 1 + 1/2 + … + 1/10 shares together.
  it('are of no more than three shares when an account fills one of its ten endpoints after the other', async () => {
    const { addTo, take } = await arrange();
    const many = uniqueAccountId();
    for (const endpoint of repeat(10, () => newFlow(many))) await addTo(endpoint, 200);
    const one = newFlow();
    await addTo(one, 200);
    const taken = await take(400);
    expect(countOf(one, taken)).toBeGreaterThanOrEqual(100);
  });

  it('go as their accounts’ weights say: 10 to 1 of the first thousand', async () => {
    const { addTo, take, setWeight } = await arrange();
    const [heavy, usual] = [newFlow(), newFlow()];
    await setWeight(heavy, 10);
    await addTo(usual, 300);
    await addTo(heavy, 1_200);
    const taken = await take(1_000);
    expect(Math.abs(countOf(heavy, taken) - 909)).toBeLessThanOrEqual(20);
  });

  it('go as their weights say from when they are changed, for what comes then', async () => {
    const { addTo, take, setWeight } = await arrange();
    const [one, other] = [newFlow(), newFlow()];
    await addTo(one, 100);
    await addTo(other, 600);
    await setWeight(one, 4);
    await addTo(one, 400);
    expect(Math.abs(countOf(one, await take(200)) - 100)).toBeLessThanOrEqual(2);
    expect(Math.abs(countOf(one, await take(250)) - 200)).toBeLessThanOrEqual(5);
  });

  it('have their share while twenty others send as much as workers can take, each one delivery at a time', async () => {
    const { addTo, take } = await arrange();
    const [busy, crowd] = [newFlow(), repeat(20, () => newFlow())];
    await addTo(busy, 200);
    const taken: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      for (const flow of crowd) {
        await addTo(flow, 1);
        taken.push(...(await take(1)));
      }
    }
    expect(countOf(busy, taken)).toBeGreaterThanOrEqual(15);
  });

  it('that are sent once more take up four steps each', async () => {
    const { deliveryQueue, addTo, take } = await arrange();
    const [replayed, usual] = [newFlow(), newFlow()];
    await deliveryQueue.addRequested(repeat(200, () => ({ ...newDelivery(replayed), request: replay })));
    await addTo(usual, 400);
    expect(Math.abs(countOf(replayed, await take(250)) - 50)).toBeLessThanOrEqual(2);
  });

  it('that somebody asks for one by one take up a step, as new ones do', async () => {
    const { deliveryQueue, addTo, take } = await arrange();
    const [redelivered, usual] = [newFlow(), newFlow()];
    const request: DeliveryRequested = { ...replay, trigger: 'manual' };
    await deliveryQueue.addRequested(repeat(100, () => ({ ...newDelivery(redelivered), request })));
    await addTo(usual, 100);
    expect(Math.abs(countOf(redelivered, await take(100)) - 50)).toBeLessThanOrEqual(1);
  });
});

describe('a queue that runs empty', () => {
  it('begins again: positions are small, and no flow’s past counts', async () => {
    const { addTo, take, priorityOf } = await arrange();
    const [one, other] = [newFlow(), newFlow()];
    const many = await addTo(one, 400);
    expect(await priorityOf(many.at(-1) ?? '')).toBe(400);
    await take(1_000);

    const next = await addTo(one, 10);
    await addTo(other, 10);
    expect(await priorityOf(next.at(-1) ?? '')).toBeLessThanOrEqual(next.length + 1);
    const taken = await take(20);
    for (let end = 2; end <= 20; end += 2) {
      expect(Math.abs(countOf(one, taken.slice(0, end)) - end / 2)).toBeLessThanOrEqual(1);
    }
  });

  it('keeps nothing of who had deliveries, but for an hour', async () => {
    const { client, addTo } = await arrange();
    const flow = newFlow();
    await addTo(flow, 3);
    const ttlMs = await client.pttl(`${queueKeys.fairOrder(DELIVERIES_QUEUE)}:${flow.accountId}`);
    expect(ttlMs).toBeGreaterThan(3_500_000);
    expect(ttlMs).toBeLessThanOrEqual(3_600_000);
  });
});

describe('beyond the largest priority', () => {
  /** A queue whose head has come so near to it that an endpoint’s next delivery but one is beyond. */
  async function arrangeAtTheEnd() {
    const arranged = await arrange();
    const { client, add } = arranged;
    const busy = newFlow();
    await add([newDelivery(busy)]);
    const flows = `${queueKeys.fairOrder(DELIVERIES_QUEUE)}:${busy.accountId}`;
    await client.zadd(flows, MAX_PRIORITY - 2, busy.endpointId);
    return { ...arranged, busy };
  }

  it('deliveries go as they come, and those with nothing waiting still go next until the head is there', async () => {
    const { addTo, take, priorityOf, busy } = await arrangeAtTheEnd();
    const ids = await addTo(busy, 200);
    expect(await priorityOf(ids.at(-1) ?? '')).toBe(MAX_PRIORITY);
    const [light] = await addTo(newFlow(), 1);
    const taken = await take(500);
    expect(taken.indexOf(light ?? '')).toBeLessThanOrEqual(1);
    expect(only(busy, taken).slice(1)).toEqual(ids);
  });

  it('nothing is lost or refused, and all begins again once the queue has run empty', async () => {
    const { addTo, take, priorityOf, busy } = await arrangeAtTheEnd();
    await addTo(busy, 50);
    await take(10);
    const other = newFlow();
    const late = await addTo(other, 50);
    const taken = await take(500);
    expect(taken).toHaveLength(91);
    expect(only(other, taken)).toEqual(late);
    const [anew] = await addTo(newFlow(), 1);
    expect(await priorityOf(anew ?? '')).toBe(1);
  });
});

describe('what comes back', () => {
  it('brought forward has a place of today, and not the one that it had', async () => {
    const { deliveryQueue, worker, addTo, take } = await arrange();
    const [busy, other] = [newFlow(), newFlow()];
    // It came when many waited.
    await addTo(busy, 500);
    const delivery = newDelivery(busy);
    await deliveryQueue.addAll([delivery]);
    await take(500);
    const job = await worker.getNextJob('mine', { block: false });
    expect(job?.id).toBe(deliveryIdOf(delivery));
    await job?.moveToDelayed(Date.now() + 3_600_000, 'mine');
    await addTo(other, 100);
    await deliveryQueue.promote(delivery.endpointId, [delivery.eventId]);
    expect(await take(FEW)).toContain(deliveryIdOf(delivery));
  });

  it('from having failed for good has one as well', async () => {
    const { jobs, deliveryQueue, client, addTo, take } = await arrange();
    const delivery = newDelivery(newFlow());
    await deliveryQueue.addAll([delivery]);
    await take(1);
    await client.lrem(jobs.toKey('active'), 1, deliveryIdOf(delivery));
    await client.zadd(jobs.toKey('failed'), 1, deliveryIdOf(delivery));
    await client.hset(jobs.toKey(deliveryIdOf(delivery)), 'priority', 5_000);
    await addTo(newFlow(), 100);
    await deliveryQueue.putBackFailed(delivery);
    expect(await take(FEW)).toContain(deliveryIdOf(delivery));
  });
});

it('asks once where an endpoint is that gets many deliveries together', async () => {
  // A server of its own: ioredis breaks off when a command of somebody else comes together with the reply to MONITOR.
  const server = willClose(await startRedisServer());
  const { client } = willClose(await openTestRedis(server.url));
  const deliveryQueue = new DeliveryQueue(client, oneShard('bull'));
  const monitor = await client.monitor();
  willClose({ close: () => monitor.disconnect() });
  const flow = newFlow();
  const asked: string[][] = [];
  const hasEnded = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time, [command, ...args]: string[]) => {
      if (command?.toUpperCase() === 'ZMSCORE') asked.push(args);
      if (args[0] === flow.endpointId) resolve();
    });
  });
  await deliveryQueue.addAll(repeat(50, () => newDelivery(flow)));
  await client.echo(flow.endpointId);
  await hasEnded;
  expect(asked.filter((args) => args.includes(flow.endpointId))).toEqual([
    [`${queueKeys.fairOrder(DELIVERIES_QUEUE)}:${flow.accountId}`, flow.endpointId],
  ]);
});

it('adds of several processes at once lose nothing, and keep the turns', async () => {
  const { url, take } = await arrange();
  const processes = repeat(2, () => {
    const redis = new Redis(url, { maxRetriesPerRequest: null });
    willClose({ close: () => redis.disconnect() });
    return { redis, queue: new DeliveryQueue(redis, oneShard('bull')) };
  });
  await Promise.all(processes.map(async ({ redis }) => await redis.ping()));
  const [one, other] = [newFlow(), newFlow()];
  const added: string[] = [];
  await Promise.all(
    processes.flatMap(({ queue }) =>
      [one, other].map(async (flow) => {
        for (let chunk = 0; chunk < 10; chunk += 1) {
          const deliveries = repeat(20, () => newDelivery(flow));
          await queue.addAll(deliveries);
          added.push(...deliveries.map(deliveryIdOf));
        }
      }),
    ),
  );
  const taken = await take(1_000);
  expect(taken.toSorted()).toEqual(added.toSorted());
  for (let end = 100; end <= 700; end += 100) {
    const share = countOf(one, taken.slice(0, end)) / end;
    expect(share).toBeGreaterThan(0.35);
    expect(share).toBeLessThan(0.65);
  }
});
