import type { AccountId } from '../domain/account';
import { keys } from '../domain/keys';
import type { QueueStandings } from '../queue/bullmq-queue-standings';
import type { HeldCounts } from '../queue/redis-held-counts';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { recordSignals } from '../testing/record-signals';
import { signalSamples } from '../testing/signal-samples';
import { openTestRedis } from '../testing/test-redis';
import { AccountLoads } from './account-loads';
import { DaySampler } from './day-sampler';
import { Operations, type OperationsParts } from './operations';
import { DayStore, HOUR_MS, SAMPLE_EVERY_MS } from './redis-day-store';
import type { WorkerReports } from './redis-worker-reports';

const NOW = Date.parse('2026-11-27T10:20:30.000Z');
const [BIG, SMALL] = ['big', 'small'] as AccountId[] as [AccountId, AccountId];

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const dayStore = new DayStore(client);
  let now = NOW;
  const clock = () => now;
  const queue = { name: 'deliveries' as const, isPaused: false, active: 1, failed: 0 };
  const parts = {
    dayStore,
    clock,
    standings: fake<QueueStandings>({
      read: async () => ({
        queues: [
          { ...queue, shard: 0, waiting: 5, delayed: 3, oldestWaitedMs: 1_500 },
          { ...queue, shard: 1, waiting: 7, delayed: 0, oldestWaitedMs: 200 },
        ],
        deadLetters: 0,
      }),
    }),
    heldCounts: fake<HeldCounts>({ readByShard: async () => [{ disabled: 2 }, {}] }),
    workerReports: fake<WorkerReports>({ list: async () => [] }),
  };
  const open = () => new Operations(fake<OperationsParts>(parts));
  return { client, dayStore, clock, open, wait: (ms: number) => (now += ms) };
}

const accepted = (accountId: AccountId, bytes: number) => ({
  ...signalSamples['event.accepted'],
  accountId,
  bytes,
});

describe('what accounts use', () => {
  it('is added up over processes and hours, the account with most first', async () => {
    const { dayStore, clock, open, wait } = await arrange();
    const { listen: emit } = recordSignals();
    const [api, worker] = [0, 1].map(() => new AccountLoads({ dayStore, clock, emit }));
    api?.listen(accepted(BIG, 100));
    api?.listen(accepted(BIG, 50));
    api?.listen(accepted(SMALL, 1_000));
    worker?.listen({ ...signalSamples['transformation.charged'], accountId: SMALL, tookMs: 2.4 });
    await Promise.all([api?.flush(), worker?.flush()]);
    wait(HOUR_MS);
    api?.listen(accepted(BIG, 1));
    await api?.flush();

    const reader = open();
    const hour = Math.floor(NOW / HOUR_MS) * HOUR_MS;
    expect(await reader.heaviestAccounts('events', 10)).toEqual([
      {
        accountId: BIG,
        events: 3,
        bytes: 151,
        transformMs: 0,
        hours: [
          { start: hour, events: 2, bytes: 150, transformMs: 0 },
          { start: hour + HOUR_MS, events: 1, bytes: 1, transformMs: 0 },
        ],
      },
      {
        accountId: SMALL,
        events: 1,
        bytes: 1_000,
        transformMs: 3,
        hours: [{ start: hour, events: 1, bytes: 1_000, transformMs: 3 }],
      },
    ]);
    const namesBy = async (measure: 'bytes' | 'transformMs') =>
      (await reader.heaviestAccounts(measure, 1)).map(({ accountId }) => accountId);
    expect(await namesBy('bytes')).toEqual([SMALL]);
    expect(await namesBy('transformMs')).toEqual([SMALL]);
  });

  it('is kept in memory while it can’t be written', async () => {
    const { dayStore, clock, open } = await arrange();
    const signals = recordSignals();
    let isAway = true;
    const broken = fake<DayStore>({
      addLoads: async (...args) => {
        if (isAway) throw new Error('away');
        await dayStore.addLoads(...args);
      },
    });
    const loads = new AccountLoads({ dayStore: broken, clock, emit: signals.listen });
    loads.listen(accepted(BIG, 100));
    await loads.flush();
    expect(signals.named('task.failed')).toMatchObject([{ task: 'count the load of accounts' }]);
    isAway = false;
    loads.listen(accepted(BIG, 100));
    await loads.close();
    const [account] = await open().heaviestAccounts('events', 10);
    expect(account).toMatchObject({ accountId: BIG, events: 2, bytes: 200 });
  });

  it('writes nothing while nothing is used', async () => {
    const { client, dayStore, clock } = await arrange();
    const loads = new AccountLoads({ dayStore, clock, emit: recordSignals().listen });
    loads.listen(signalSamples['delivery.attempted']);
    await loads.close();
    expect(await client.dbsize()).toBe(0);
  });

  it('is bounded: of an hour that is over the 1,000 that used most stay', async () => {
    const { client, dayStore } = await arrange();
    const ids = Array.from({ length: 1_200 }, (_, i) => `account-${i}` as AccountId);
    const load = { events: 1, bytes: 1, transformMs: 0 };
    await dayStore.addLoads(new Map(ids.map((id, i) => [id, { ...load, events: i + 1 }])), NOW);
    const key = keys.accountLoads('events', Math.floor(NOW / HOUR_MS));
    expect(await client.zcard(key)).toBe(1_200);
    await dayStore.addLoads(new Map([[BIG, load]]), NOW + HOUR_MS);
    expect(await client.zcard(key)).toBe(1_000);
    expect(await client.zscore(key, 'account-1199')).toBe('1200');
    expect(await client.pttl(key)).toBeGreaterThan(24 * HOUR_MS);
  });

  it('is forgotten of an account that is erased', async () => {
    const { dayStore, open } = await arrange();
    const load = { events: 1, bytes: 1, transformMs: 1 };
    await dayStore.addLoads(new Map([BIG, SMALL].map((id) => [id, load])), NOW - HOUR_MS);
    await dayStore.forgetLoads(BIG, NOW);
    const found = await open().heaviestAccounts('bytes', 10);
    expect(found.map(({ accountId }) => accountId)).toEqual([SMALL]);
  });
});

describe('samples of queues and workers', () => {
  it('are taken once every five minutes, by whichever worker comes first, and kept for a day', async () => {
    const { client, dayStore, clock, open, wait } = await arrange();
    const signals = recordSignals();
    const samplers = [0, 1].map(() => new DaySampler({ operations: open(), clock, emit: signals.listen }));
    await Promise.all(samplers.map((sampler) => sampler.runOnce()));
    wait(SAMPLE_EVERY_MS);
    for (const sampler of samplers) await sampler.runOnce();
    const read = async () => await dayStore.readSamples(clock());
    expect(await read()).toMatchObject([
      {
        at: NOW,
        shards: [
          { waiting: 5, delayed: 3, held: 2 },
          { waiting: 7, delayed: 0, held: 0 },
        ],
        oldestWaitedMs: 1_500,
        workers: 0,
      },
      { at: NOW + SAMPLE_EVERY_MS },
    ]);
    wait(24 * HOUR_MS);
    await samplers[0]?.runOnce();
    expect((await read()).map(({ at }) => at)).toEqual([NOW + 24 * HOUR_MS + SAMPLE_EVERY_MS]);
    expect(await client.hlen(keys.operationsSamples)).toBe(2);
    expect(signals.named('task.failed')).toEqual([]);
  });

  it('end with one of now', async () => {
    const { open, wait } = await arrange();
    await open().recordSample();
    wait(1_000);
    const samples = await open().readSamples();
    expect(samples.map(({ at }) => at)).toEqual([NOW, NOW + 1_000]);
  });

  it('leave out what a later version has written in another form', async () => {
    const { client, dayStore, open } = await arrange();
    await open().recordSample();
    await client.hset(keys.operationsSamples, '1', '{"at":1,"form":2}');
    expect(await dayStore.readSamples(NOW)).toHaveLength(1);
  });
});
