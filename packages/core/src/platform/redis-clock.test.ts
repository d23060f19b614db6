import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { startRedisServer } from '../testing/redis-server';
import { openTestRedis } from '../testing/test-redis';
import { steadyClock } from './clock';
import { RedisClock, TOO_LARGE_FROM_MS } from './redis-clock';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const DAY_MS = 86_400_000;

/** A process on a machine whose clock is wrong, with a real Redis whose clock is right. */
async function arrange({
  offMs = 0,
  restMs = 0,
  url,
}: {
  offMs?: number;
  restMs?: number;
  url?: string;
} = {}) {
  const { client } = willClose(await openTestRedis(url));
  const signals = recordSignals();
  const machine = { offMs, sleptMs: 0 };
  const redisClock = new RedisClock({
    redis: client,
    emit: signals.listen,
    machine: () => Date.now() + machine.offMs,
    steady: () => steadyClock() - machine.sleptMs + restMs,
  });
  willClose({ close: () => redisClock.stop() });
  const changes: boolean[] = [];
  await redisClock.start((isTrusted) => changes.push(isTrusted));
  /** Gives how far the clock is beyond what Redis told before and after it was read. */
  async function errorMs(): Promise<number> {
    const read = async () => {
      const [seconds = 0, microseconds = 0] = (await client.time()).map(Number);
      return seconds * 1_000 + microseconds / 1_000;
    };
    const [before, now, after] = [await read(), redisClock.now(), await read()];
    return Math.max(Math.floor(before) - now, now - after, 0);
  }
  return { client, redisClock, machine, signals, changes, errorMs };
}

// Half a round trip, on a busy machine.
const EXACT_MS = 1_000;

it.each([0, 15 * DAY_MS, -15 * DAY_MS])(
  'is the time of Redis, in whole milliseconds, on a machine whose clock is %d ms off',
  async (offMs) => {
    const { redisClock, errorMs } = await arrange({ offMs, restMs: 0.5 });
    expect(await errorMs()).toBeLessThan(EXACT_MS);
    expect(Number.isInteger(redisClock.now())).toBe(true);
    expect(Math.abs((redisClock.skewMs ?? Infinity) - offMs)).toBeLessThan(EXACT_MS);
  },
);

it('stays right at the very moment at which someone sets the clock of the machine, and knows that it was set', async () => {
  const { redisClock, machine, errorMs } = await arrange();
  machine.offMs = 3_600_000;
  expect(redisClock.isTrusted).toBe(false);
  expect(await errorMs()).toBeLessThan(EXACT_MS);
  machine.offMs = -3_600_000;
  expect(redisClock.isTrusted).toBe(false);
  expect(await errorMs()).toBeLessThan(EXACT_MS);
});

it('is moved no further than a reply proves: one that took long does not make it worse', async () => {
  const { url } = willClose(await startRedisServer());
  const { client, redisClock, errorMs } = await arrange({ url });
  await client.client('PAUSE', 3 * EXACT_MS, 'ALL');
  await redisClock.requireTrusted();
  expect(await errorMs()).toBeLessThan(EXACT_MS);
});

it('asks once more before it refuses: a machine that slept has another steady time', async () => {
  const { redisClock, machine, errorMs } = await arrange();
  machine.sleptMs = 2 * TOO_LARGE_FROM_MS;
  expect(redisClock.isTrusted).toBe(false);
  await redisClock.requireTrusted();
  expect(redisClock.isTrusted).toBe(true);
  expect(await errorMs()).toBeLessThan(EXACT_MS);
});

it('refuses beyond a minute, in words that say what to do', async () => {
  const { redisClock } = await arrange({ offMs: -75_000 });
  await expect(redisClock.requireTrusted()).rejects.toMatchObject({
    code: 'clock_skewed',
    message: expect.stringMatching(/^The clock of this machine is 7\d\.\d s behind that of Redis\. Set /),
  });
});

it('tells once when a difference begins, when it is too large, and when it ends', async () => {
  const { redisClock, machine, signals, changes } = await arrange({ offMs: 3_000 });
  const measure = async (offMs: number) => {
    machine.offMs = offMs;
    await redisClock.requireTrusted().catch(() => {});
  };
  for (const offMs of [3_000, 2_500, 1_500, 70_000, 80_000, 3_000, 0, 1_500, 0]) await measure(offMs);
  const said = signals.all().map((signal) => ('isTooLarge' in signal ? signal.isTooLarge : signal.name));
  expect(said).toEqual([false, true, false, 'clock.right']);
  expect(changes).toEqual([true, false, true]);
});
