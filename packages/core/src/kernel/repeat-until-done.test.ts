import { repeatUntilDone } from './repeat-until-done';

beforeEach(() => jest.useFakeTimers({ now: 0 }));
afterEach(() => jest.useRealTimers());

/** An action that fails a number of times, and when it was tried. */
function buildAction(failures: number) {
  const triedAt: number[] = [];
  return {
    triedAt,
    async action() {
      triedAt.push(Date.now());
      if (triedAt.length <= failures) throw new Error('not yet');
    },
  };
}

describe('repeatUntilDone', () => {
  it('tries at once, and not again after it went well', async () => {
    const { action, triedAt } = buildAction(0);
    const repetition = repeatUntilDone(action);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(triedAt).toEqual([0]);
    expect(repetition.isDone()).toBe(true);
  });

  it('is not done for as long as the action fails', async () => {
    const { action } = buildAction(1);
    const repetition = repeatUntilDone(action);
    await jest.advanceTimersByTimeAsync(99);
    expect(repetition.isDone()).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(repetition.isDone()).toBe(true);
  });

  it('tries again at intervals that double up to two seconds', async () => {
    const { action, triedAt } = buildAction(7);
    repeatUntilDone(action);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(triedAt).toEqual([0, 100, 300, 700, 1_500, 3_100, 5_100, 7_100]);
  });

  it('tries no more once it is stopped', async () => {
    const { action, triedAt } = buildAction(Number.POSITIVE_INFINITY);
    const repetition = repeatUntilDone(action);
    await jest.advanceTimersByTimeAsync(100);
    repetition.stop();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(triedAt).toEqual([0, 100]);
  });

  it('tries no more when it is stopped in the middle of an attempt that then fails', async () => {
    const { action, triedAt } = buildAction(Number.POSITIVE_INFINITY);
    const repetition = repeatUntilDone(action);
    repetition.stop();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(triedAt).toEqual([0]);
  });
});
