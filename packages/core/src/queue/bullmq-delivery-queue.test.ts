import { Queue } from 'bullmq';
import { deliveryIdOf } from '../deliveries/delivery-id';
import type { MoveInput } from '../gates/move';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { BullmqDeliveryQueue } from './bullmq-delivery-queue';
import { DELIVERIES_QUEUE, SLOW_DELIVERIES_QUEUE } from './queue-names';

let redis: TestRedis;
let queue: BullmqDeliveryQueue;
let fast: Queue;
let slow: Queue;
beforeAll(async () => {
  redis = await openTestRedis();
  queue = new BullmqDeliveryQueue({ redis: redis.client, prefix: 'bull' });
  fast = new Queue(DELIVERIES_QUEUE, { connection: redis.client });
  slow = new Queue(SLOW_DELIVERIES_QUEUE, { connection: redis.client });
});
afterEach(() => Promise.all([fast.drain(), slow.drain()]));
afterAll(async () => {
  await Promise.all([queue.close(), fast.close(), slow.close()]);
  await redis.close();
});

function buildMove(change: Partial<MoveInput> = {}): MoveInput {
  return {
    accountId: uniqueAccountId(),
    eventId: uniqueEventId(),
    endpointId: uniqueEndpointId(),
    side: 'first',
    wasReleased: false,
    ...change,
  };
}

async function readJobs(from: Queue) {
  return (await from.getWaiting()).map(({ id, data, opts }) => ({ id, data, attempts: opts.attempts }));
}

describe('addSlow', () => {
  it('puts the same job onto the slow queue, whose id is free there while the other has not ended', async () => {
    const move = buildMove();
    await queue.addAll(move.accountId, move.eventId, [move.endpointId]);
    const [job] = await readJobs(fast);
    expect(job).toMatchObject({ id: deliveryIdOf(move) });
    await queue.addSlow(move);
    expect(await readJobs(slow)).toEqual([job]);
    expect(await readJobs(fast)).toEqual([job]);
  });

  it('keeps that the delivery waited at its gate', async () => {
    const move = buildMove({ side: 'second', wasReleased: true });
    await queue.release(move.accountId, move.endpointId, [move]);
    await queue.addSlow(move);
    expect(await readJobs(slow)).toEqual(await readJobs(fast));
  });

  it('makes one job of a delivery that is moved again after a crash', async () => {
    const move = buildMove();
    await queue.addSlow(move);
    await queue.addSlow(move);
    expect(await readJobs(slow)).toHaveLength(1);
  });
});

describe('releaseLost', () => {
  const released = ({ accountId, endpointId, ...parked }: MoveInput) =>
    queue.releaseLost(accountId, endpointId, parked);

  it('gives a delivery a job that has none', async () => {
    const move = buildMove();
    await released(move);
    expect(await readJobs(fast)).toMatchObject([{ id: deliveryIdOf(move), data: { released: true } }]);
  });

  it('adds no second job for one that went over to the slow lane, or both lanes would send it', async () => {
    const move = buildMove();
    await queue.addSlow(move);
    await released(move);
    expect(await readJobs(fast)).toEqual([]);
    expect(await readJobs(slow)).toHaveLength(1);
  });
});
