import { createLimitRate } from './limit-rate';

const WINDOW_MS = 1_000;

/** Processes that share one count, in a time that stands still until it is moved. */
function buildLimit(count: number) {
  let now = 50_000;
  const windows = new Map<string, { taken: number; endsAt: number }>();
  const asked: number[] = [];
  const allowanceStore = {
    async take(id: string, points: number) {
      asked.push(points);
      const known = windows.get(id);
      const window = known && now < known.endsAt ? known : { taken: 0, endsAt: now + WINDOW_MS };
      windows.set(id, window);
      window.taken += points;
      return { taken: window.taken, resetsInMs: window.endsAt - now };
    },
  };
  const startProcess = () =>
    createLimitRate({ allowanceStore, allowance: { count, windowMs: WINDOW_MS }, clock: () => now });
  return { startProcess, asked, move: (ms: number) => void (now += ms) };
}

async function spend(limitRate: ReturnType<typeof createLimitRate>, requests: number, id = 'a') {
  const standings = await Promise.all(Array.from({ length: requests }, () => limitRate(id)));
  return standings.filter(({ isWithin }) => isWithin).length;
}

describe('limitRate', () => {
  it.each([
    [
      'one after the other',
      async (limitRate: ReturnType<typeof createLimitRate>) => {
        let served = 0;
        for (let request = 0; request < 1_500; request += 1) served += await spend(limitRate, 1);
        return served;
      },
    ],
    ['all at once', (limitRate: ReturnType<typeof createLimitRate>) => spend(limitRate, 1_500)],
  ])('serves exactly the allowance to requests that come %s', async (_how, send) => {
    expect(await send(buildLimit(1_000).startProcess())).toBe(1_000);
  });

  it('asks for a hundredth of the allowance at a time, and nobody once it is used up', async () => {
    const { startProcess, asked } = buildLimit(1_000);
    const limitRate = startProcess();
    for (let request = 0; request < 2_000; request += 1) await limitRate('a');
    expect(asked).toEqual(Array.from({ length: 100 }, () => 10));
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
      for (const [at, limitRate] of processes.entries()) served += await spend(limitRate, at + 1);
    }
    expect(served).toBeLessThanOrEqual(1_000);
    expect(served).toBeGreaterThanOrEqual(970);
  });

  it('says what is left, and for how long it must do', async () => {
    const { startProcess, move } = buildLimit(2);
    const limitRate = startProcess();
    expect(await limitRate('a')).toEqual({ isWithin: true, remaining: 1, resetsInMs: 1_000 });
    move(400);
    expect(await limitRate('a')).toEqual({ isWithin: true, remaining: 0, resetsInMs: 600 });
    expect(await limitRate('a')).toEqual({ isWithin: false, remaining: 0, resetsInMs: 600 });
  });

  it('serves again when the window is over', async () => {
    const { startProcess, move } = buildLimit(2);
    const limitRate = startProcess();
    expect(await spend(limitRate, 5)).toBe(2);
    move(WINDOW_MS - 1);
    expect(await spend(limitRate, 5)).toBe(0);
    move(1);
    expect(await spend(limitRate, 5)).toBe(2);
  });

  it("leaves one key's requests alone when another has used up its own", async () => {
    const limitRate = buildLimit(2).startProcess();
    await spend(limitRate, 5, 'a');
    expect(await spend(limitRate, 5, 'b')).toBe(2);
  });

  it('asks anew after it got no answer', async () => {
    const take = jest
      .fn()
      .mockRejectedValueOnce(new Error('no luck'))
      .mockResolvedValue({ taken: 1, resetsInMs: 1_000 });
    const limitRate = createLimitRate({
      allowanceStore: { take },
      allowance: { count: 5, windowMs: WINDOW_MS },
      clock: () => 0,
    });
    await expect(limitRate('a')).rejects.toThrow('no luck');
    expect(await limitRate('a')).toMatchObject({ isWithin: true });
  });
});
