import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import type { NewDelivery } from '../intake/fan-out-event';
import { type DeliveryRequested, deliveryIdOf } from '../model/delivery';
import { DELIVERIES_QUEUE } from '../model/queue-names';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { readWaitingIds, takeFromWaiting, WAITING, WAITS } from '../testing/waiting-jobs';
import { BullmqDeliveryQueue } from './bullmq-delivery-queue';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const request: DeliveryRequested = { requestId: 'rdl_1', trigger: 'manual', requestedAt: 1_700_000_000_000 };

function buildDelivery(): NewDelivery {
  return { accountId: uniqueAccountId(), eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
}

/** The queue in an empty database, and what BullMQ sees of it. */
async function arrange() {
  const { url, client } = willClose(await openTestRedis());
  const deliveryQueue = willClose(new BullmqDeliveryQueue({ redis: client, prefix: 'bull' }));
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

  it('knows of no job where there is none, and of no request where the job can not be read', async () => {
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
    await deliveryQueue.promote(delivery);
    expect(await stateOf(delivery)).toMatch(WAITS);
  });

  it('leaves alone one that is on the queue already, and what has no job', async () => {
    const { deliveryQueue, stateOf } = await arrange();
    const [waiting, none] = [buildDelivery(), buildDelivery()];
    await deliveryQueue.addAll([waiting]);
    await deliveryQueue.promote(waiting);
    await deliveryQueue.promote(none);
    expect([await stateOf(waiting), await stateOf(none)]).toEqual([expect.stringMatching(WAITS), 'unknown']);
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

it('says what a worker is at, and what has a job', async () => {
  const { deliveryQueue, take } = await arrange();
  const [active, waiting, none] = [buildDelivery(), buildDelivery(), buildDelivery()];
  await deliveryQueue.addAll([active]);
  const finish = await take();
  await deliveryQueue.addAll([waiting]);
  const ask = (question: (delivery: NewDelivery) => Promise<boolean>) =>
    Promise.all([active, waiting, none].map(question));
  expect(await ask((delivery) => deliveryQueue.isRunning(delivery))).toEqual([true, false, false]);
  expect(await ask((delivery) => deliveryQueue.hasJob(delivery))).toEqual([true, true, false]);
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
