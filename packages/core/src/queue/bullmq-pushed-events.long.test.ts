import { once } from 'node:events';
import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { queueKeysOf } from '../domain/keys';
import { EVENTS_QUEUE } from '../domain/queues';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { readWaitingIds } from '../testing/waiting-jobs';
import { PushedEvents } from './bullmq-pushed-events';

const queueKeys = queueKeysOf('bull');

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const FEW = 4;

function nested(depth: number): object {
  return depth === 0 ? {} : [nested(depth - 1)];
}

/** A queue of events, and what sorts it. */
async function arrange() {
  const { url, client } = willClose(await openTestRedis());
  const events = willClose(new Queue(EVENTS_QUEUE, { connection: client }));
  const worker = willClose(new Worker(EVENTS_QUEUE, null, { connection: client }));
  let pushed = 0;

  /** As a producer does. Gives their ids. */
  async function push(count: number, data: object): Promise<readonly string[]> {
    const jobs = Array.from({ length: count }, () => {
      pushed += 1;
      return { name: 'keyword.quick_win', data, opts: { jobId: `job${pushed}` } };
    });
    await events.addBulk(jobs);
    return jobs.map(({ opts }) => opts.jobId);
  }

  return {
    url,
    client,
    events,
    push,
    pushOf: (accountId: string, count: number) => push(count, { account_id: accountId, data: {} }),
    /** One that has not looked yet, as another process’ is. */
    sort: () => new PushedEvents({ redis: client, prefix: QUEUE_PREFIX }, FEW).sort(),
    waiting: () => readWaitingIds(client, events),
    sorted: () => client.zrange(events.toKey('prioritized'), '0', '-1'),
    async take(count: number): Promise<readonly string[]> {
      const taken: string[] = [];
      while (taken.length < count) {
        const job = await worker.getNextJob('token', { block: false });
        if (!job) break;
        taken.push(job.id ?? '');
      }
      return taken;
    },
  };
}

const only = (mine: readonly string[], taken: readonly string[]) => taken.filter((id) => mine.includes(id));

describe('events that producers push', () => {
  it('stay as they are while few wait', async () => {
    const { pushOf, sort, sorted, waiting } = await arrange();
    const ids = await pushOf('acme', FEW);
    await sort();
    expect(await sorted()).toEqual([]);
    expect(await waiting()).toEqual(ids);
  });

  it('are taken account by account once many wait, whichever producer pushed first', async () => {
    const { pushOf, sort, take } = await arrange();
    const [burst, other] = [await pushOf('burst', 1_000), await pushOf('other', 20)];
    await sort();
    const taken = await take(40);
    expect(only(other, taken)).toEqual(other);
    expect(Math.abs(only(burst, taken).length - 20)).toBeLessThanOrEqual(1);
  });

  it('keep their order within an account', async () => {
    const { pushOf, sort, take } = await arrange();
    const mine: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      mine.push(...(await pushOf('mine', 30)));
      await pushOf('other', 7);
      await sort();
    }
    expect(only(mine, await take(1_000))).toEqual(mine);
  });

  // BullMQ takes what has no place before all that has one.
  it('that come when others are in order do not overtake those, be they ever so few', async () => {
    const { pushOf, sort, take } = await arrange();
    const first = await pushOf('mine', 50);
    const other = await pushOf('other', 50);
    await sort();
    const last = await pushOf('mine', 2);
    await sort();
    const taken = await take(1_000);
    expect(only([...first, ...last], taken)).toEqual([...first, ...last]);
    expect(only(other, taken)).toEqual(other);
  });

  it('of one who pushes without end do not keep those waiting that are in order', async () => {
    const { client, pushOf, take } = await arrange();
    const pushedEvents = new PushedEvents({ redis: client, prefix: QUEUE_PREFIX }, FEW);
    await pushOf('endless', 50);
    const other = await pushOf('other', 10);
    await pushedEvents.sort();
    const taken: string[] = [];
    for (let round = 0; round < 40; round += 1) {
      await pushOf('endless', 2);
      await pushedEvents.sort();
      taken.push(...(await take(1)));
    }
    expect(only(other, taken)).toEqual(other);
  });

  it('are as they were when they are sorted twice', async () => {
    const { client, events, pushOf, sort, waiting } = await arrange();
    await pushOf('acme', 30);
    await pushOf('other', 30);
    await sort();
    const scores = () => client.zrange(events.toKey('prioritized'), '0', '-1', 'WITHSCORES');
    const before = await scores();
    await Promise.all([sort(), sort()]);
    expect(await scores()).toEqual(before);
    expect(await waiting()).toHaveLength(60);
  });

  it('are sorted however many they are, once each, by any number at once', async () => {
    const { pushOf, sort, waiting, sorted } = await arrange();
    const ids = await pushOf('acme', 950);
    await Promise.all([sort(), sort(), sort()]);
    expect((await waiting()).toSorted()).toEqual(ids.toSorted());
    expect(await sorted()).toHaveLength(950);
  });

  it('are looked at no more often than needed', async () => {
    const { client, pushOf } = await arrange();
    const pushedEvents = new PushedEvents({ redis: client, prefix: QUEUE_PREFIX }, FEW);
    await pushOf('acme', 1);
    const looks = jest.spyOn(client, 'evalsha');
    jest.spyOn(performance, 'now').mockReturnValue(1_000);
    await Promise.all(Array.from({ length: 50 }, () => pushedEvents.sort()));
    expect(looks).toHaveBeenCalledTimes(1);
    jest.restoreAllMocks();
  });

  it('go as the weights of their accounts say', async () => {
    const { client, pushOf, sort, take } = await arrange();
    await client.hset(queueKeys.accountWeights, 'heavy', 4);
    await pushOf('usual', 100);
    const heavy = await pushOf('heavy', 100);
    await sort();
    expect(Math.abs(only(heavy, await take(100)).length - 80)).toBeLessThanOrEqual(2);
  });

  it('with a priority of their producer’s stay where that put them', async () => {
    const { events, pushOf, sort, take } = await arrange();
    await events.add('urgent', {}, { jobId: 'urgent', priority: 1 });
    await events.add('whenever', {}, { jobId: 'whenever', priority: 1_000 });
    await pushOf('acme', 20);
    await sort();
    const taken = await take(100);
    expect([taken[0], taken.at(-1)]).toEqual(['urgent', 'whenever']);
  });
});

describe('an event', () => {
  it.each<[string, object]>([
    ['has no account', { data: {} }],
    ['has one that can not be', { account_id: 'no account', data: {} }],
    ['has one that is no text', { account_id: { account_id: ['burst'] }, data: {} }],
    ['is a list', [1, 2, { account_id: 'burst' }]],
    ['is nested too deeply to be parsed', nested(1_500)],
    ['has its account behind a megabyte', { data: 'x'.repeat(1_000_000), account_id: 'burst' }],
  ])('that %s takes turns with all such ones, and is not lost', async (_what, data) => {
    const { push, pushOf, sort, take } = await arrange();
    const burst = await pushOf('burst', 30);
    const strange = await push(5, data);
    await sort();
    const taken = await take(100);
    expect(taken.toSorted()).toEqual([...burst, ...strange].toSorted());
    expect(only(strange, taken.slice(0, 11))).toEqual(strange);
  });

  it('that is huge and begins with its account is sorted by it', async () => {
    const { push, pushOf, sort, take } = await arrange();
    const burst = await pushOf('burst', 30);
    const huge = await push(3, { account_id: 'burst', data: 'x'.repeat(1_000_000) });
    const other = await pushOf('other', 3);
    await sort();
    const taken = await take(100);
    expect(only(other, taken.slice(0, 7))).toEqual(other);
    expect(only([...burst, ...huge], taken)).toEqual([...burst, ...huge]);
  });

  it('that names an account deep in its data as well is its own account’s', async () => {
    const { push, pushOf, sort, take } = await arrange();
    const first = await push(1, { account_id: 'mine', data: { account_id: 'other' } });
    const mine = await push(30, {
      data: { account_id: 'other', more: [{ account_id: 'third' }] },
      account_id: 'mine',
    });
    const last = await pushOf('mine', 1);
    const other = await pushOf('other', 3);
    await sort();
    const taken = await take(100);
    expect(only([...first, ...mine, ...last], taken)).toEqual([...first, ...mine, ...last]);
    expect(only(other, taken.slice(0, 7))).toEqual(other);
  });

  it('that was removed while it waited is no event again', async () => {
    const { client, events, pushOf, sort, take } = await arrange();
    const ids = await pushOf('acme', 20);
    await events.remove(ids[3] ?? '');
    await sort();
    expect(await take(100)).toEqual(ids.filter((_, i) => i !== 3));
    expect(await client.exists(events.toKey(ids[3] ?? ''))).toBe(0);
  });
});

it('a BullMQ worker that waits takes them in the fair order', async () => {
  const { url, pushOf, sort } = await arrange();
  const burst = await pushOf('burst', 40);
  const other = await pushOf('other', 5);
  await sort();
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  willClose({ close: () => connection.disconnect() });
  const taken: string[] = [];
  const worker = willClose(
    new Worker(EVENTS_QUEUE, async ({ id = '' }) => void taken.push(id), { connection, concurrency: 1 }),
  );
  await once(worker, 'drained');
  expect(only(other, taken.slice(0, 11))).toEqual(other);
  expect(only(burst, taken)).toEqual(burst);
});
