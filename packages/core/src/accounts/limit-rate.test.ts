import { fake } from '../testing/fake';
import { uniqueAccountId } from '../testing/unique-ids';
import { RateLimit, type RateLimitParts, type Spender } from './limit-rate';
import type { AllowanceStore, Usage, Window } from './redis-allowance-store';

const WINDOW_MS = 1_000;
const ACCOUNT = uniqueAccountId();
const allow = (count: number) => ({ count, windowMs: WINDOW_MS });
const keyOf = (id: string, accountId = ACCOUNT): Spender => ({ id, accountId });

type Limits = Pick<RateLimitParts, 'ofKey' | 'ofAccount'>;

/** Processes that share their counts, in a time that stands still until it is moved. */
function buildLimits(limits: Limits) {
  let now = 50_000;
  const windows = new Map<string, { taken: number; endsAt: number }>();
  const asked: (readonly Window[])[] = [];

  function takeOne(name: string, points: number): Usage {
    const known = windows.get(name);
    const window = known && now < known.endsAt ? known : { taken: 0, endsAt: now + WINDOW_MS };
    windows.set(name, window);
    window.taken += points;
    return { taken: window.taken, resetsInMs: window.endsAt - now };
  }

  const allowanceStore = fake<AllowanceStore>({
    async take(accountId, of) {
      asked.push(of);
      return of.map(({ apiKeyId = '', points }) => takeOne(`${accountId}/${apiKeyId}`, points));
    },
  });
  const startProcess = () => new RateLimit({ allowanceStore, ...limits, clock: () => now });
  return { startProcess, asked, move: (ms: number) => void (now += ms) };
}

const buildLimit = (count: number) => buildLimits({ ofKey: allow(count), ofAccount: undefined });

async function spend(rateLimit: RateLimit, requests: number, id = 'a', points = 1) {
  const standings = await Promise.all(
    Array.from({ length: requests }, () => rateLimit.spend(keyOf(id), points)),
  );
  return standings.filter((standing) => standing?.isWithin).length;
}

describe('RateLimit', () => {
  it.each([
    [
      'one after the other',
      async (rateLimit: RateLimit) => {
        let served = 0;
        for (let request = 0; request < 1_500; request += 1) served += await spend(rateLimit, 1);
        return served;
      },
    ],
    ['all at once', (rateLimit: RateLimit) => spend(rateLimit, 1_500)],
  ])('serves exactly the allowance to requests that come %s', async (_how, send) => {
    expect(await send(buildLimit(1_000).startProcess())).toBe(1_000);
  });

  it('asks for a hundredth of the allowance at a time, and nobody once it is used up', async () => {
    const { startProcess, asked } = buildLimit(1_000);
    const rateLimit = startProcess();
    for (let request = 0; request < 2_000; request += 1) await rateLimit.spend(keyOf('a'));
    expect(asked.map(([window]) => window?.points)).toEqual(Array.from({ length: 100 }, () => 10));
  });

  it('asks a few times at most for requests that come all at once', async () => {
    const { startProcess, asked } = buildLimit(1_000);
    await spend(startProcess(), 900);
    expect(asked.length).toBeLessThanOrEqual(3);
  });

  it('never serves more than the allowance in several processes, and at most a hundredth for each of them less', async () => {
    const { startProcess } = buildLimit(1_000);
    const processes = [startProcess(), startProcess(), startProcess()];
    let served = 0;
    for (let turn = 0; turn < 500; turn += 1) {
      for (const [at, rateLimit] of processes.entries()) served += await spend(rateLimit, at + 1);
    }
    expect(served).toBeLessThanOrEqual(1_000);
    expect(served).toBeGreaterThanOrEqual(970);
  });

  it('says what is left, and for how long it must do', async () => {
    const { startProcess, move } = buildLimit(2);
    const rateLimit = startProcess();
    const ofKey = { limitOf: 'key', allowance: allow(2), windows: 1 };
    const next = () => rateLimit.spend(keyOf('a'));
    expect(await next()).toEqual({ ...ofKey, isWithin: true, remaining: 1, resetsInMs: 1_000 });
    move(400);
    expect(await next()).toEqual({ ...ofKey, isWithin: true, remaining: 0, resetsInMs: 600 });
    expect(await next()).toEqual({ ...ofKey, isWithin: false, remaining: 0, resetsInMs: 600 });
  });

  it('gives back what was spent in this window, and nothing to a later one', async () => {
    const { startProcess, move } = buildLimit(2);
    const rateLimit = startProcess();
    const next = async () => (await rateLimit.spend(keyOf('a')))?.isWithin;
    const { windows = 0 } = (await rateLimit.spend(keyOf('a'))) ?? {};
    rateLimit.giveBack(keyOf('a'), 1, windows);
    expect([await next(), await next(), await next()]).toEqual([true, true, false]);
    move(WINDOW_MS);
    expect([await next(), await next()]).toEqual([true, true]);
    rateLimit.giveBack(keyOf('a'), 1, windows);
    expect(await next()).toBe(false);
  });

  it('serves again when the window is over', async () => {
    const { startProcess, move } = buildLimit(2);
    const rateLimit = startProcess();
    expect(await spend(rateLimit, 5)).toBe(2);
    move(WINDOW_MS - 1);
    expect(await spend(rateLimit, 5)).toBe(0);
    move(1);
    expect(await spend(rateLimit, 5)).toBe(2);
  });

  it("leaves one key's requests alone when another has used up its own", async () => {
    const rateLimit = buildLimit(2).startProcess();
    await spend(rateLimit, 5, 'a');
    expect(await spend(rateLimit, 5, 'b')).toBe(2);
  });

  it('asks again after it got no reply', async () => {
    const take = jest
      .fn()
      .mockRejectedValueOnce(new Error('no luck'))
      .mockResolvedValue([{ taken: 1, resetsInMs: 1_000 }]);
    const rateLimit = new RateLimit({
      allowanceStore: fake<AllowanceStore>({ take }),
      ofKey: allow(5),
      ofAccount: undefined,
      clock: () => 0,
    });
    await expect(rateLimit.spend(keyOf('a'))).rejects.toThrow('no luck');
    expect(await rateLimit.spend(keyOf('a'))).toMatchObject({ isWithin: true });
  });
});

describe('what takes several points', () => {
  it('is served as long as all of them are left, by one question', async () => {
    const { startProcess, asked } = buildLimit(1_000);
    const rateLimit = startProcess();
    expect(await spend(rateLimit, 1, 'a', 400)).toBe(1);
    expect(asked).toHaveLength(1);
    expect(await spend(rateLimit, 1, 'a', 500)).toBe(1);
    expect(await rateLimit.spend(keyOf('a'), 200)).toMatchObject({ isWithin: false, remaining: 100 });
    expect(await spend(rateLimit, 150, 'a')).toBe(100);
  });

  it('never gets past the allowance together with what takes one, in several processes', async () => {
    const { startProcess } = buildLimit(1_000);
    const processes = [startProcess(), startProcess()];
    let served = 0;
    for (let turn = 0; turn < 40; turn += 1) {
      for (const rateLimit of processes) {
        served += 37 * (await spend(rateLimit, 1, 'a', 37)) + (await spend(rateLimit, 2));
      }
    }
    expect(served).toBeLessThanOrEqual(1_000);
    expect(served).toBeGreaterThanOrEqual(980);
  });

  it('takes a whole window if it is more than that, and is served in a new one', async () => {
    const { startProcess, move } = buildLimit(10);
    const rateLimit = startProcess();
    expect(await spend(rateLimit, 1, 'a', 500)).toBe(1);
    expect(await spend(rateLimit, 1, 'a')).toBe(0);
    move(WINDOW_MS);
    expect(await spend(rateLimit, 1, 'a')).toBe(1);
    expect(await spend(rateLimit, 1, 'a', 500)).toBe(0);
  });
});

describe("an account's limit", () => {
  const same = (count: number): Limits => ({ ofKey: allow(count), ofAccount: allow(count) });

  it('holds for all of its keys together, in several processes, and for no other account', async () => {
    const { startProcess } = buildLimits(same(1_000));
    const processes = [startProcess(), startProcess()];
    let served = 0;
    for (let turn = 0; turn < 50; turn += 1) {
      for (const rateLimit of processes) {
        for (let key = 0; key < 10; key += 1) served += await spend(rateLimit, 3, `key-${key}`);
      }
    }
    expect(served).toBeLessThanOrEqual(1_000);
    expect(served).toBeGreaterThanOrEqual(970);
    expect(await processes[0]?.spend(keyOf('other', uniqueAccountId()))).toMatchObject({ isWithin: true });
  });

  it('is not used up by what is taken in advance for keys that ask for little', async () => {
    const rateLimit = buildLimits(same(1_000)).startProcess();
    let served = 0;
    for (let key = 0; key < 900; key += 1) served += await spend(rateLimit, 1, `key-${key}`);
    expect(served).toBe(900);
  });

  it('is asked for by the same question as the one of the key', async () => {
    const { startProcess, asked } = buildLimits(same(1_000));
    const rateLimit = startProcess();
    for (let request = 0; request < 1_000; request += 1) await rateLimit.spend(keyOf('a'));
    expect(asked).toHaveLength(100);
    expect(asked[0]?.map(({ apiKeyId }) => apiKeyId)).toEqual(['a', undefined]);
  });

  it('may be another one than that of a key, and is told of when it leaves less', async () => {
    const rateLimit = buildLimits({ ofKey: allow(3), ofAccount: allow(4) }).startProcess();
    const tell = async (id: string) => {
      const { limitOf, isWithin, remaining } = (await rateLimit.spend(keyOf(id))) ?? {};
      return `${limitOf} ${isWithin} ${remaining}`;
    };
    expect(await tell('a')).toBe('key true 2');
    expect(await tell('b')).toBe('key true 2');
    expect(await tell('b')).toBe('key true 1');
    expect(await tell('b')).toBe('key true 0');
    expect(await tell('b')).toBe('key false 0');
    expect(await tell('a')).toBe('account false 0');
  });

  it('may be off, and so may be both', async () => {
    const onlyAccount = buildLimits({ ofKey: undefined, ofAccount: allow(2) }).startProcess();
    expect([await spend(onlyAccount, 2, 'a'), await spend(onlyAccount, 2, 'b')]).toEqual([2, 0]);
    const { startProcess, asked } = buildLimits({ ofKey: undefined, ofAccount: undefined });
    expect(await startProcess().spend(keyOf('a'))).toBeUndefined();
    expect(asked).toEqual([]);
  });
});
