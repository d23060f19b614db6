import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { type DeliveryRequested, deliveryIdOf, type NewDelivery } from '../domain/delivery';
import { queueKeysOf } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { atomicAsOne } from '../platform/redis-atomic';
import { nameRedisError } from '../platform/redis-errors';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { readWaitingIds, takeFromWaiting, WAITING, WAITS } from '../testing/waiting-jobs';
import { DeliveryQueue } from './bullmq-delivery-queue';
import { createJobKeys } from './bullmq-layout';

describe('bullmq delivery queue', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const request: DeliveryRequested = {
    requestId: 'rdl_1',
    trigger: 'manual',
    requestedAt: 1_700_000_000_000,
  };

  function buildDelivery(): NewDelivery {
    return { accountId: uniqueAccountId(), eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
  }

  /** The queue in an empty database, and what BullMQ sees of it. */
  async function arrange() {
    const { url, client } = willClose(await openTestRedis());
    const deliveryQueue = new DeliveryQueue(client, oneShard('bull'));
    const jobs = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    return {
      client,
      deliveryQueue,
      jobs,
      async readWaiting() {
        return (await jobs.getJobs([...WAITING])).map(({ id, data, opts }) => ({
          id,
          data,
          attempts: opts.attempts,
        }));
      },
      stateOf: (delivery: NewDelivery) => jobs.getJobState(deliveryIdOf(delivery)),
      // As BullMQ leaves it that has failed for good.
      async fail(delivery: NewDelivery) {
        await takeFromWaiting(client, jobs, deliveryIdOf(delivery));
        await client.zadd(jobs.toKey('failed'), 1, deliveryIdOf(delivery));
      },
      /** Lets a worker take the next job. Gives what ends it. */
      async take(): Promise<() => void> {
        return await new Promise<() => void>((resolveTaken) => {
          const connection = new Redis(url, { maxRetriesPerRequest: null });
          willClose({ close: () => connection.disconnect() });
          let isFirst = true;
          const processor = async () => {
            if (isFirst) await new Promise<void>((resolve) => resolveTaken(resolve));
            isFirst = false;
          };
          willClose(new Worker(DELIVERIES_QUEUE, processor, { connection }));
        });
      },
    };
  }

  describe('addAll', () => {
    it("makes one job of a delivery, under the delivery's id, that may be tried as often as any schedule says", async () => {
      const { deliveryQueue, readWaiting } = await arrange();
      const delivery = buildDelivery();
      await deliveryQueue.addAll([delivery]);
      await deliveryQueue.addAll([delivery, delivery]);
      expect(await readWaiting()).toEqual([
        { id: deliveryIdOf(delivery), data: { account_id: delivery.accountId }, attempts: 10_000 },
      ]);
    });

    // Two requests that publish an event under the same id at the same time are fanned out together.
    it('makes one job of a delivery that is named twice', async () => {
      const { deliveryQueue, client, jobs } = await arrange();
      const [delivery, other] = [buildDelivery(), buildDelivery()];
      await deliveryQueue.addAll([delivery, delivery, other]);
      expect(await readWaitingIds(client, jobs)).toEqual([delivery, other].map(deliveryIdOf));
    });

    it('keeps the order in which they are given', async () => {
      const { deliveryQueue, client, jobs } = await arrange();
      const deliveries = Array.from({ length: 50 }, buildDelivery);
      await deliveryQueue.addAll(deliveries);
      expect(await readWaitingIds(client, jobs)).toEqual(deliveries.map(deliveryIdOf));
    });

    it('leaves alone what is delayed: it is held, or tried again later', async () => {
      const { deliveryQueue, jobs, stateOf } = await arrange();
      const delivery = buildDelivery();
      await jobs.add('d', {}, { jobId: deliveryIdOf(delivery), delay: 60_000 });
      await deliveryQueue.addAll([delivery]);
      expect(await stateOf(delivery)).toBe('delayed');
    });
  });

  describe('addRequested', () => {
    it('gives the job what it was added for', async () => {
      const { deliveryQueue } = await arrange();
      const delivery = buildDelivery();
      await deliveryQueue.addRequested([{ ...delivery, request }]);
      expect(await deliveryQueue.requestOf(delivery)).toEqual({ requestId: request.requestId });
    });

    it('leaves the job alone that there is, and tells whose it is', async () => {
      const { deliveryQueue, readWaiting } = await arrange();
      const [scheduled, requested] = [buildDelivery(), buildDelivery()];
      await deliveryQueue.addAll([scheduled]);
      await deliveryQueue.addRequested([{ ...requested, request }]);
      const before = await readWaiting();
      const other = { ...request, requestId: 'rdl_2' };
      await deliveryQueue.addRequested([scheduled, requested].map((each) => ({ ...each, request: other })));
      expect(await readWaiting()).toEqual(before);
      expect(await deliveryQueue.requestOf(scheduled)).toBe('no_request');
      expect(await deliveryQueue.requestOf(requested)).toEqual({ requestId: request.requestId });
    });

    it('finds no job where there is none, and no request where the job can not be read', async () => {
      const { deliveryQueue, client, jobs } = await arrange();
      const delivery = buildDelivery();
      expect(await deliveryQueue.requestOf(delivery)).toBe('no_job');
      await deliveryQueue.addAll([delivery]);
      await client.hset(jobs.toKey(deliveryIdOf(delivery)), 'data', '{"broken');
      expect(await deliveryQueue.requestOf(delivery)).toBe('no_request');
    });
  });

  describe('promote', () => {
    it('puts a job that waits for its time at the end of the queue', async () => {
      const { deliveryQueue, jobs, stateOf } = await arrange();
      const delivery = buildDelivery();
      await jobs.add('d', {}, { jobId: deliveryIdOf(delivery), delay: 60_000 });
      await deliveryQueue.promote(delivery.endpointId, [delivery.eventId]);
      expect(await stateOf(delivery)).toMatch(WAITS);
    });

    it('leaves alone one that is on the queue already, and what has no job', async () => {
      const { deliveryQueue, stateOf } = await arrange();
      const [waiting, none] = [buildDelivery(), buildDelivery()];
      await deliveryQueue.addAll([waiting]);
      await deliveryQueue.promote(waiting.endpointId, [waiting.eventId]);
      await deliveryQueue.promote(none.endpointId, [none.eventId]);
      expect([await stateOf(waiting), await stateOf(none)]).toEqual([
        expect.stringMatching(WAITS),
        'unknown',
      ]);
    });
  });

  describe('putBackFailed', () => {
    it('puts a job back that has failed for good', async () => {
      const { deliveryQueue, stateOf, fail } = await arrange();
      const delivery = buildDelivery();
      await deliveryQueue.addAll([delivery]);
      await fail(delivery);
      expect(await stateOf(delivery)).toBe('failed');
      await deliveryQueue.putBackFailed(delivery);
      expect(await stateOf(delivery)).toMatch(WAITS);
    });

    it('leaves alone one that has not', async () => {
      const { deliveryQueue, stateOf } = await arrange();
      const delivery = buildDelivery();
      await deliveryQueue.addAll([delivery]);
      await deliveryQueue.putBackFailed(delivery);
      expect(await stateOf(delivery)).toMatch(WAITS);
    });
  });

  describe('guardUnplaced', () => {
    type Arranged = Awaited<ReturnType<typeof arrange>>;
    const hold = async ({ client }: Arranged, { endpointId, eventId }: NewDelivery) =>
      void (await client.zadd(queueKeysOf('bull').held(endpointId), 1, eventId));

    it.each<[string, (arranged: Arranged, delivery: NewDelivery) => Promise<void>]>([
      ['that waits', ({ deliveryQueue }, delivery) => deliveryQueue.addAll([delivery])],
      [
        'that has failed for good',
        async ({ deliveryQueue, fail }, delivery) => {
          await deliveryQueue.addAll([delivery]);
          await fail(delivery);
        },
      ],
      [
        'that is delayed',
        async ({ jobs }, delivery) =>
          void (await jobs.add('d', {}, { jobId: deliveryIdOf(delivery), delay: 60_000 })),
      ],
      ['that is held, without its job', hold],
    ])('keeps what follows from a delivery %s', async (_which, place) => {
      const arranged = await arrange();
      const delivery = buildDelivery();
      await place(arranged, delivery);
      expect(await runGuarded(arranged, delivery)).toEqual({ results: 1, state: 'unknown' });
    });

    it('lets everything follow where nothing will send the delivery', async () => {
      const arranged = await arrange();
      await arranged.deliveryQueue.addAll([buildDelivery()]);
      expect(await runGuarded(arranged, buildDelivery())).toMatchObject({
        results: 2,
        state: expect.stringMatching(WAITS),
      });
    });

    /** Whether what follows has run: the next delivery has a job. */
    async function runGuarded({ deliveryQueue, client, stateOf }: Arranged, delivery: NewDelivery) {
      const next = buildDelivery();
      const steps = [deliveryQueue.guardUnplaced(delivery), deliveryQueue.stepToAdd([next])] as const;
      const results = await atomicAsOne(client)(steps);
      return { results: results.length, state: await stateOf(next) };
    }
  });

  it('says what a worker is at, and what has a job', async () => {
    const { deliveryQueue, take } = await arrange();
    const [active, waiting, none] = [buildDelivery(), buildDelivery(), buildDelivery()];
    await deliveryQueue.addAll([active]);
    const finish = await take();
    await deliveryQueue.addAll([waiting]);
    for (const { endpointId, eventId } of [active, waiting, none]) {
      const running = await deliveryQueue.findRunning(endpointId, [eventId]);
      expect([...running]).toEqual(eventId === active.eventId ? [eventId] : []);
    }
    expect(await Promise.all([active, waiting, none].map((one) => deliveryQueue.requestOf(one)))).toEqual([
      'no_request',
      'no_request',
      'no_job',
    ]);
    finish();
  });

  describe('removeIdle', () => {
    it('takes away what waits for its time, leaves what waits for a worker, and says what a worker is at', async () => {
      const { client, deliveryQueue, jobs, stateOf, take } = await arrange();
      const [none, waiting, delayed, active] = [
        buildDelivery(),
        buildDelivery(),
        buildDelivery(),
        buildDelivery(),
      ];
      await deliveryQueue.addAll([active]);
      const finish = await take();
      await deliveryQueue.addAll([waiting]);
      await jobs.add('d', {}, { jobId: deliveryIdOf(delayed), delay: 60_000 });

      expect(await deliveryQueue.removeIdle([none, waiting, delayed, active])).toEqual([active]);
      expect(await jobs.getJobCountByTypes('delayed')).toBe(0);
      expect(await readWaitingIds(client, jobs)).toEqual([deliveryIdOf(waiting)]);
      expect(await stateOf(delayed)).toBe('unknown');
      finish();
    });

    it('takes away what has failed for good', async () => {
      const { deliveryQueue, stateOf, fail } = await arrange();
      const delivery = buildDelivery();
      await deliveryQueue.addAll([delivery]);
      await fail(delivery);
      expect(await deliveryQueue.removeIdle([delivery])).toEqual([]);
      expect(await stateOf(delivery)).toBe('unknown');
    });
  });
});

describe('bullmq add deliveries', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const jobKeys = createJobKeys('bull', DELIVERIES_QUEUE);

  function buildDelivery(): NewDelivery {
    return { accountId: uniqueAccountId(), eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
  }

  async function arrange() {
    const { url, client } = willClose(await openTestRedis());
    const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    await queue.waitUntilReady();
    return { url, client, queue, deliveryQueue: new DeliveryQueue(client, oneShard('bull')) };
  }

  /** All that there is of a queue, without what differs from one moment, and from one job, to the next. */
  async function readQueue(client: Redis, jobId: string) {
    // The time of acceptance is ours.
    const { timestamp, opts, at: _, ...job } = await client.hgetall(jobKeys.job(jobId));
    return {
      job,
      attempts: (JSON.parse(opts ?? '{}') as { readonly attempts?: number }).attempts,
      hasTime: Number(timestamp) > 1_700_000_000_000,
      places: await client.zrange(jobKeys.prioritized, '0', '-1', 'WITHSCORES'),
      marker: await client.zrange(jobKeys.marker, '0', '-1', 'WITHSCORES'),
      counter: await client.get(jobKeys.priorityCounter),
    };
  }

  it('leaves in Redis what BullMQ’s own add leaves, but for its stream of events, which nobody reads', async () => {
    const delivery = buildDelivery();
    const jobId = deliveryIdOf(delivery);
    const ours = await arrange();
    await ours.deliveryQueue.addAll([delivery]);
    const theirs = await arrange();
    await theirs.queue.add('d', { account_id: delivery.accountId }, { attempts: 10_000, priority: 1, jobId });
    expect(await readQueue(ours.client, jobId)).toEqual(await readQueue(theirs.client, jobId));
  });

  it('leaves a job alone that is there, in whichever state', async () => {
    const { client, queue, deliveryQueue } = await arrange();
    const [delayed, waiting] = [buildDelivery(), buildDelivery()];
    await queue.add('other', { is: 'theirs' }, { jobId: deliveryIdOf(delayed), delay: 60_000 });
    await deliveryQueue.addAll([waiting]);
    const all = async () =>
      await Promise.all([delayed, waiting].map((one) => client.hgetall(jobKeys.job(deliveryIdOf(one)))));
    const before = await all();
    await deliveryQueue.addAll([waiting, delayed]);
    expect(await all()).toEqual(before);
    expect(await queue.getJobCounts('delayed', 'prioritized')).toEqual({ delayed: 1, prioritized: 1 });
  });

  it('does not wake anybody while the queue is paused', async () => {
    const { client, queue, deliveryQueue } = await arrange();
    await queue.pause();
    await deliveryQueue.addAll([buildDelivery()]);
    expect(await client.zcard(jobKeys.marker)).toBe(0);
  });

  it('wakes a worker that waits, which takes and ends them', async () => {
    const { url, queue, deliveryQueue } = await arrange();
    const connection = new Redis(url, { maxRetriesPerRequest: null });
    willClose({ close: () => connection.disconnect() });
    const taken: string[] = [];
    const deliveries = Array.from({ length: 30 }, buildDelivery);
    const allTaken = new Promise<void>((resolve) => {
      const worker = new Worker(
        DELIVERIES_QUEUE,
        async ({ id = '', data }) => {
          taken.push(`${id} ${data.account_id}`);
        },
        { connection, removeOnComplete: { count: 0 }, drainDelay: 3_600 },
      );
      willClose(worker);
      worker.on('completed', () => {
        if (taken.length === deliveries.length) resolve();
      });
    });
    await new Promise(setImmediate);
    await deliveryQueue.addAll(deliveries);
    await allTaken;
    expect(taken.toSorted()).toEqual(
      deliveries.map((one) => `${deliveryIdOf(one)} ${one.accountId}`).toSorted(),
    );
    expect(await queue.getJobCountByTypes('prioritized', 'active', 'completed', 'failed')).toBe(0);
  });

  it('fails as the store being away while Redis is', async () => {
    const { url } = await arrange();
    const redis = new Redis(url, { maxRetriesPerRequest: 0, enableOfflineQueue: false, lazyConnect: true });
    willClose({ close: () => redis.disconnect() });
    const deliveryQueue = new DeliveryQueue(redis, oneShard('bull'));
    const failure: unknown = await deliveryQueue.addAll([buildDelivery()]).catch((error: unknown) => error);
    expect(nameRedisError(failure)).toMatchObject({ code: 'storage_unavailable' });
  });
});
