import { decideRetry, type RetryInput } from './retry-policy';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const JUST_BELOW_ONE = 1 - 2 ** -53;

const decide = (change: Partial<RetryInput> = {}) =>
  decideRetry({ schedule: [5 * SECOND, 24 * HOUR], attempt: 1, retryAfterMs: 0, random: 0, ...change });

describe('decideRetry', () => {
  it('waits for the delay that follows the attempt', () => {
    expect(decide()).toEqual({ kind: 'retry', delayMs: 5 * SECOND });
    expect(decide({ attempt: 2 })).toEqual({ kind: 'retry', delayMs: 24 * HOUR });
  });

  it('is exhausted when the attempt was the last one, whatever the receiver asks for', () => {
    expect(decide({ attempt: 3 })).toEqual({ kind: 'exhausted' });
    expect(decide({ attempt: 4, retryAfterMs: SECOND })).toEqual({ kind: 'exhausted' });
    expect(decide({ schedule: [], attempt: 1 })).toEqual({ kind: 'exhausted' });
  });

  it.each([
    [0, 5_000],
    [0.5, 5_250],
    [JUST_BELOW_ONE, 5_500],
  ])('adds a jitter of up to 10 %%: with %d of it, %d ms', (random, delayMs) => {
    expect(decide({ random })).toEqual({ kind: 'retry', delayMs });
  });

  it.each([
    [0, 24 * HOUR],
    [0.5, 24 * HOUR + 450 * SECOND],
    [JUST_BELOW_ONE, 24 * HOUR + 900 * SECOND],
  ])('adds no more than 15 minutes: with %d of it, %d ms', (random, delayMs) => {
    expect(decide({ attempt: 2, random })).toEqual({ kind: 'retry', delayMs });
  });

  it('waits for longer when the receiver asked for longer, to the millisecond', () => {
    expect(decide({ retryAfterMs: 60 * SECOND, random: 0.5 })).toEqual({
      kind: 'retry',
      delayMs: 60 * SECOND,
    });
  });

  it('waits no less than scheduled when the receiver asked for less', () => {
    expect(decide({ retryAfterMs: SECOND })).toEqual({ kind: 'retry', delayMs: 5 * SECOND });
  });

  it('gives whole milliseconds', () => {
    expect(decide({ schedule: [33], random: 0.77 })).toEqual({ kind: 'retry', delayMs: 36 });
  });
});
