import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { createQueueLayout, DELIVERIES_QUEUE, EVENTS_QUEUE, oneShard, shardsAmong } from '../domain/queues';
import { atomicAsOne } from '../platform/redis-atomic';
import { PausedQueues } from '../queue/bullmq-paused-queues';
import { QueueStandings } from '../queue/bullmq-queue-standings';
import { buildAtomic } from '../testing/build-atomic';
import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { openTestRedis } from '../testing/test-redis';
import { PauseWatch } from './pause-watch';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const shards = shardsAmong(createQueueLayout(3, QUEUE_PREFIX), []);
  const standings = new QueueStandings(client, shards);
  const signals = recordSignals();
  const atomic = atomicAsOne(client);
  const state = { isAway: false };
  const watch = new PauseWatch({
    standings,
    atomic: buildAtomic(async (steps, patienceMs) => {
      if (state.isAway) throw new Error('Redis is away.');
      return await atomic(steps, patienceMs);
    }),
    emit: signals.listen,
  });
  const told = () => signals.all().map((signal) => [signal.name, 'queue' in signal && signal.queue]);
  const [, second] = shards.all();
  return {
    standings,
    watch,
    told,
    state,
    queues: new PausedQueues(client, shards),
    ofOneShard: new PausedQueues(client, oneShard(second?.prefix ?? '')),
  };
}

describe('a paused queue', () => {
  it('is told once, and that it goes on again, for as long as it is so in any shard', async () => {
    const { watch, told, queues, ofOneShard } = await arrange();
    await watch.runOnce();
    expect(told()).toEqual([]);
    await ofOneShard.pause(DELIVERIES_QUEUE);
    await watch.runOnce();
    await queues.pause(DELIVERIES_QUEUE);
    await watch.runOnce();
    expect(told()).toEqual([['queue.paused', DELIVERIES_QUEUE]]);
    await queues.resume(DELIVERIES_QUEUE);
    await queues.pause(EVENTS_QUEUE);
    await watch.runOnce();
    expect(told().slice(1)).toEqual([
      ['queue.paused', EVENTS_QUEUE],
      ['queue.resumed', DELIVERIES_QUEUE],
    ]);
  });

  it('is told by a process that starts meanwhile', async () => {
    const { watch, told, queues } = await arrange();
    await queues.pause(DELIVERIES_QUEUE);
    watch.start();
    await watch.stop();
    expect(told()).toEqual([['queue.paused', DELIVERIES_QUEUE]]);
  });

  it('is not taken for resumed while Redis is away', async () => {
    const { watch, told, queues, state } = await arrange();
    await queues.pause(DELIVERIES_QUEUE);
    await watch.runOnce();
    state.isAway = true;
    await watch.runOnce();
    expect(told()).toEqual([['queue.paused', DELIVERIES_QUEUE]]);
  });

  it('is named among the queues, in the shards where it is paused', async () => {
    const { standings, ofOneShard } = await arrange();
    await ofOneShard.pause(DELIVERIES_QUEUE);
    expect(await standings.readPaused()).toEqual([
      { queue: EVENTS_QUEUE, isPaused: false },
      { queue: DELIVERIES_QUEUE, isPaused: true },
    ]);
    const { queues } = await standings.read(0);
    expect(queues.filter(({ isPaused }) => isPaused)).toMatchObject([{ name: DELIVERIES_QUEUE, shard: 1 }]);
  });
});
