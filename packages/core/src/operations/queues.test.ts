import { Queue } from 'bullmq';
import { AuditLog } from '../accounts/audit/redis-audit-log';
import { PauseStore, type PauseSubject } from '../accounts/redis-pause-store';
import { DEFAULT_ACCOUNT } from '../domain/account';
import { createQueueLayout, DELIVERIES_QUEUE, EVENTS_QUEUE, shardsAmong } from '../domain/queues';
import { QueueStandings } from '../queue/bullmq-queue-standings';
import { buildAct } from '../testing/build-act';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { withMethods } from '../testing/with-methods';
import { Queues } from './queues';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const shards = shardsAmong(createQueueLayout(3, 'bull'), []);
  const pauseStore = new PauseStore(client);
  const standings = new QueueStandings(client, shards);
  const open = (store: PauseStore = pauseStore) =>
    new Queues({ redis: client, shards, standings, pauseStore: store, clock: Date.now });
  const queues = open();
  return {
    client,
    shards,
    pauseStore,
    open,
    pause: (reason?: string, from = queues) =>
      from.pause(DELIVERIES_QUEUE, reason, buildAct({ action: 'queue.pause' })),
    resume: (from = queues) => from.resume(DELIVERIES_QUEUE, buildAct({ action: 'queue.resume' })),
    pausedShards: async () =>
      Object.fromEntries((await queues.list()).map(({ name, pausedShards }) => [name, pausedShards])),
    log: async () => {
      const { entries } = await new AuditLog(client).listDone(DEFAULT_ACCOUNT, {}, 100);
      return entries.map(({ action, targetId, changes }) => [action, targetId, changes?.[0]?.to]);
    },
  };
}

describe('a paused queue', () => {
  it('is paused in all shards, by somebody for a reason, which a repetition leaves as it is', async () => {
    const { pause, pausedShards, log } = await arrange();
    expect(await pause('The network is down')).toMatchObject({ reason: 'The network is down' });
    expect(await pause('something else')).toMatchObject({ reason: 'The network is down' });
    expect(await pausedShards()).toMatchObject({ [DELIVERIES_QUEUE]: 3, [EVENTS_QUEUE]: 0 });
    expect(await log()).toEqual([['queue.pause', DELIVERIES_QUEUE, 'The network is down']]);
  });

  it('is paused in the shards that a call which broke off has left', async () => {
    const { client, shards, pause, pausedShards } = await arrange();
    await pause();
    const prefix = shards.all()[1]?.prefix ?? '';
    await willClose(new Queue(DELIVERIES_QUEUE, { connection: client, prefix })).resume();
    await pause();
    expect(await pausedShards()).toMatchObject({ [DELIVERIES_QUEUE]: 3 });
  });

  it('is resumed, also if an earlier version paused it, which did not note it', async () => {
    const { client, shards, pause, resume, pausedShards } = await arrange();
    await pause();
    expect(await resume()).toBeUndefined();
    expect(await pausedShards()).toMatchObject({ [DELIVERIES_QUEUE]: 0 });
    const prefix = shards.all()[2]?.prefix ?? '';
    await willClose(new Queue(DELIVERIES_QUEUE, { connection: client, prefix })).pause();
    await resume();
    expect(await pausedShards()).toMatchObject({ [DELIVERIES_QUEUE]: 0 });
  });

  it('is as the last of many orders at the same time has it, in every shard', async () => {
    const { open, pauseStore, pause, resume, pausedShards } = await arrange();
    for (let round = 0; round < 5; round += 1) {
      const orders = Array.from({ length: 6 }, (_, i) =>
        i % 2 === 0 ? pause('race', open()) : resume(open()),
      );
      await Promise.all(orders);
      const isPaused = (await pauseStore.find({ kind: 'queue', id: DELIVERIES_QUEUE })) !== undefined;
      expect(await pausedShards()).toMatchObject({ [DELIVERIES_QUEUE]: isPaused ? 3 : 0 });
    }
  });

  it('is as the later order has it, also if that came and went between a look and its step', async () => {
    const { open, pauseStore, pause, resume, pausedShards } = await arrange();
    let hasLooked = false;
    const lookThenWait = withMethods(pauseStore, {
      find: async (subject: PauseSubject) => {
        const found = await pauseStore.find(subject);
        if (!hasLooked) {
          hasLooked = true;
          await resume();
        }
        return found;
      },
    });
    expect(await pause('late', open(lookThenWait))).toBeUndefined();
    expect(await pausedShards()).toMatchObject({ [DELIVERIES_QUEUE]: 0 });
  });
});
