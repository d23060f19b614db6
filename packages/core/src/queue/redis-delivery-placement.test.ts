import { type DeliveryRun, deliveryIdOf, laneJobIdOf } from '../domain/delivery';
import { laneNameOf } from '../domain/endpoint';
import { keys, queueKeysOf } from '../domain/keys';
import { createQueueLayout, DELIVERIES_QUEUE, type QueueShard, shardsAmong } from '../domain/queues';
import { createAtomic } from '../platform/redis-atomic';
import { connectRedis } from '../platform/redis-connect';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { createJobKeys } from './bullmq-layout';
import { RunningJobs } from './bullmq-running-jobs';
import { DeliveryPlacement } from './redis-delivery-placement';

const LOCK_MS = 30_000;
const IN_A_MINUTE = { kind: 'delayed', delayMs: 60_000 } as const;
const HEAD = { eventId: undefined, hadBegun: false, isInBatches: false, sent: undefined, members: undefined };

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** A delivery whose job is in the only shard that there was, and belongs into another one of four. */
async function arrange({ isStable = false } = {}) {
  const { url, client } = willClose(await openTestRedis());
  const redis = connectRedis({ url, role: 'working', name: 'test', emit: () => {} });
  willClose({ close: async () => redis.disconnect() });
  const [before, now] = [createQueueLayout(1, 'bull'), createQueueLayout(4, 'bull')];
  const shards = shardsAmong(now, [before]);
  const deliveryQueue = new DeliveryQueue(redis, shards);
  const run = misplacedRun((id) => shards.homeShardOf(id).prefix !== 'bull');
  const placement = new DeliveryPlacement(redis, { ...shards, isStable });
  const home = shards.homeShardOf(run.endpointId);
  const keysIn = ({ prefix }: QueueShard) => createJobKeys(prefix, DELIVERIES_QUEUE);
  const jobId = deliveryIdOf(run);
  return {
    client,
    run,
    home,
    former: before.first,
    deliveryQueue,
    /** As a worker leaves it that was killed in the middle. */
    claim: ({ prefix }: QueueShard) => client.set(keys.sending(run.endpointId, run.eventId), prefix),
    placement,
    jobsInHomeShard: () => client.zrange(keysIn(home).prioritized, '0', '-1'),
    lock: (shard: QueueShard) => client.set(keysIn(shard).lock(jobId), 'token'),
    unlock: (shard: QueueShard) => client.del(keysIn(shard).lock(jobId)),
    jobId,
  };
}

function misplacedRun(isMisplaced: (endpointId: string) => boolean): DeliveryRun {
  for (;;) {
    const endpointId = uniqueEndpointId();
    if (!isMisplaced(endpointId)) continue;
    const ids = { accountId: uniqueAccountId(), endpointId, eventId: uniqueEventId() };
    return { ...ids, hasWaited: false, wasTakenOver: false, ownedUntil: Number.POSITIVE_INFINITY };
  }
}

it('gives a delivery its job at home, once, however often it breaks off before the other one is gone', async () => {
  const { placement, run, former, home, jobsInHomeShard, jobId } = await arrange();
  expect([placement.isInHomeShard(run, former), placement.isInHomeShard(run, home)]).toEqual([false, true]);
  expect(await placement.moveHome(run)).toBe(true);
  expect(await placement.moveHome(run)).toBe(true);
  expect(await jobsInHomeShard()).toEqual([jobId]);
});

it('keeps a job while a worker is at another one at home, which may not know what it was added for', async () => {
  const { placement, run, home, lock, unlock, jobsInHomeShard, client, jobId } = await arrange();
  await placement.moveHome(run);
  await lock(home);
  const request = { requestId: 'req', trigger: 'manual', requestedAt: 1 } as const;
  expect(await placement.moveHome({ ...run, request })).toBe(false);
  // That one comes to its end.
  const { job, prioritized } = createJobKeys(home.prefix, DELIVERIES_QUEUE);
  await unlock(home);
  await client.del(job(jobId), prioritized);
  expect(await placement.moveHome({ ...run, request })).toBe(true);
  expect(await jobsInHomeShard()).toEqual([jobId]);
  expect(await client.hget(job(jobId), 'data')).toContain('"req"');
});

it('lets go of a job whose delivery is in a lane at home, or in a batch', async () => {
  const { placement, deliveryQueue, run, home, client, jobsInHomeShard } = await arrange();
  await deliveryQueue.addAll([{ ...run, acceptedAt: 1, isInLane: true }]);
  expect(await placement.moveHome(run)).toBe(true);
  const { lane, batches } = queueKeysOf(home.prefix);
  await client.del(lane(laneNameOf(run.endpointId)));
  await client.hset(batches(run.endpointId), run.eventId, run.eventId);
  expect(await placement.moveHome(run)).toBe(true);
  expect(await jobsInHomeShard()).toEqual([`lane/${run.endpointId}`]);
});

it('puts back a job at home that has failed for good, for an entry with a request', async () => {
  const { placement, deliveryQueue, run, home, client, jobsInHomeShard, jobId } = await arrange();
  const lane = laneNameOf(run.endpointId);
  const entry = { eventId: run.eventId, acceptedAt: 1 };
  await deliveryQueue.addAll([run]);
  const { failed, prioritized } = createJobKeys(home.prefix, DELIVERIES_QUEUE);
  await client.zrem(prioritized, jobId);
  await client.zadd(failed, 1, jobId);
  const move = (request?: string) =>
    placement.moveEntriesHome({ ...run, lane }, [{ ...entry, request }], HEAD);
  expect(await move()).toEqual([run.eventId]);
  expect(await jobsInHomeShard()).toEqual([]);
  expect(await move('{"id":"req","trigger":"manual","at":1}')).toEqual([run.eventId]);
  expect(await jobsInHomeShard()).toEqual([jobId]);
  expect(await client.zcard(failed)).toBe(0);
});

describe('what two workers move towards each other', () => {
  async function arrangeEntry(line?: string) {
    const scene = await arrange();
    const { client, placement, deliveryQueue, run, home } = scene;
    const entry = { eventId: run.eventId, acceptedAt: 1, request: undefined };
    await deliveryQueue.addAll([{ ...run, acceptedAt: 1, isInLane: true, line }]);
    const lane = laneNameOf(run.endpointId, line);
    const { lock } = createJobKeys(home.prefix, DELIVERIES_QUEUE);
    return {
      ...scene,
      /** What may be removed elsewhere. */
      moveEntry: () => placement.moveEntriesHome({ ...run, lane }, [entry], HEAD),
      /** Another worker takes this job at home. */
      take: (id: string) => client.set(lock(id), 'token'),
      letGo: (id: string) => client.del(lock(id)),
    };
  }

  it.each([
    ['the lane', undefined],
    ['the line of its group', 'a'],
  ])('stays where it is while the other one has %s', async (_what, line) => {
    const { placement, run, moveEntry, take, letGo } = await arrangeEntry(line);
    const job = laneJobIdOf(laneNameOf(run.endpointId, line));
    await take(job);
    expect([await moveEntry(), await placement.moveHome(run)]).toEqual([[], false]);
    await letGo(job);
    expect([await moveEntry(), await placement.moveHome(run)]).toEqual([[run.eventId], true]);
  });

  it('stays where it is while the other one has its batch', async () => {
    const { client, home, run, moveEntry, take, letGo } = await arrangeEntry();
    const { lane, batches } = queueKeysOf(home.prefix);
    await client.del(lane(laneNameOf(run.endpointId)));
    await client.hset(batches(run.endpointId), run.eventId, 'first');
    await take(`batch/first.${run.endpointId}`);
    expect(await moveEntry()).toEqual([]);
    await letGo(`batch/first.${run.endpointId}`);
    expect(await moveEntry()).toEqual([run.eventId]);
  });
});

it('brings home with the entries of a lane what was sent last, whose turn has begun, and what goes with that', async () => {
  const { client, placement, deliveryQueue, run, home } = await arrange();
  const [older, sent, newest] = [uniqueEventId(), uniqueEventId(), uniqueEventId()];
  const lane = laneNameOf(run.endpointId, 'a');
  const entries = [older, newest].map((eventId, i) => ({ eventId, acceptedAt: 1 + 2 * i }));
  const move = (head: object) => placement.moveEntriesHome({ ...run, lane }, entries, { ...HEAD, ...head });
  const jobs = new RunningJobs(client, home, LOCK_MS);
  const atomic = createAtomic(client);
  const take = async () => (await atomic([jobs.take('token')]))[0].job;
  const letGo = () => atomic([jobs.end([{ jobId: laneJobIdOf(lane), token: 'token' }], IN_A_MINUTE)]);

  const last = { eventId: sent, acceptedAt: 2 };
  const members = `${newest} ${older}`;
  expect(await move({ eventId: newest, hadBegun: true, sent: last, members })).toEqual([older, newest]);
  expect((await take())?.head).toMatchObject({ eventId: newest, hadBegun: true, sent: last });
  // Nothing is added that its worker would not know.
  expect(await move({ eventId: older, hadBegun: true, sent: last })).toEqual([]);
  await letGo();
  // Later, from another shard still: it has its own turn, and what was sent after that one counts.
  await move({ eventId: older, hadBegun: true, sent: { eventId: older, acceptedAt: 1 } });
  await deliveryQueue.promote(run.endpointId, [newest]);
  expect((await take())?.head).toMatchObject({ eventId: newest, sent: last, members });
});

it('begins no turn at home that had not begun where the entries were', async () => {
  const { client, placement, run, home } = await arrange();
  const entries = [{ eventId: run.eventId, acceptedAt: 1 }];
  const lane = laneNameOf(run.endpointId, 'a');
  await placement.moveEntriesHome({ ...run, lane }, entries, { ...HEAD, eventId: run.eventId });
  const [{ job }] = await createAtomic(client)([new RunningJobs(client, home, LOCK_MS).take('token')]);
  expect(job?.head).toMatchObject({ eventId: run.eventId, hadBegun: false });
});

it('works on one of two jobs at a time while processes may have different layouts', async () => {
  const { placement, run, home, former } = await arrange();
  let end = () => {};
  let begin = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const attempt = placement.work(run, home, async () => {
    begin();
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    return 'sent';
  });
  await hasBegun;
  await expect(placement.work(run, former, async () => 'sent')).resolves.toBe('elsewhere');
  end();
  await expect(attempt).resolves.toBe('sent');
  await expect(placement.work(run, former, async () => 'sent')).resolves.toBe('sent');
});

it('waits for what a worker has in another shard, in the home shard and out of it', async () => {
  const { placement, run, home, former, lock, unlock } = await arrange();
  await lock(former);
  await expect(placement.work(run, home, async () => 'sent')).resolves.toBe('elsewhere');
  await unlock(former);
  await expect(placement.work(run, home, async () => 'sent')).resolves.toBe('sent');
  await lock(home);
  await expect(placement.work(run, former, async () => 'sent')).resolves.toBe('elsewhere');
  await unlock(home);
  await expect(placement.work(run, former, async () => 'sent')).resolves.toBe('sent');
});

it('goes on at once with the job of a worker that was killed in the middle, in the same shard', async () => {
  const { placement, claim, run, home, former } = await arrange();
  await claim(home);
  await expect(placement.work(run, former, async () => 'sent')).resolves.toBe('elsewhere');
  await expect(placement.work(run, home, async () => 'sent')).resolves.toBe('sent');
});

it('asks Redis for nothing when all processes agree', async () => {
  const { placement, claim, run, home, former } = await arrange({ isStable: true });
  await claim(former);
  await expect(placement.work(run, home, async () => 'sent')).resolves.toBe('sent');
});

it('knows an older delivery of a lane in another shard, and of no younger one', async () => {
  const { client, placement, run, home, former } = await arrange();
  const { endpointId, eventId } = run;
  const lane = laneNameOf(endpointId);
  const isBehind = () => placement.hasOlderElsewhere({ endpointId, lane }, home, { eventId, acceptedAt: 5 });
  expect(await isBehind()).toBe(false);
  await client.zadd(queueKeysOf(former.prefix).lane(lane), 6, uniqueEventId());
  expect(await isBehind()).toBe(false);
  await client.zadd(queueKeysOf(former.prefix).lane(lane), 4, uniqueEventId());
  expect(await isBehind()).toBe(true);
});

it('knows the turn of another delivery of a lane in another shard, and not its own', async () => {
  const { client, placement, run, home, former } = await arrange();
  const lane = laneNameOf(run.endpointId);
  const job = createJobKeys(former.prefix, DELIVERIES_QUEUE).job(laneJobIdOf(lane));
  for (const [head, hasTurn] of [
    [undefined, false] as const,
    [uniqueEventId(), true] as const,
    [run.eventId, false] as const,
  ]) {
    if (head) await client.hset(job, 'head', head);
    expect(await placement.hasTurnElsewhere(run, home, lane)).toBe(hasTurn);
  }
});
