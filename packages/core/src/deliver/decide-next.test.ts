import { decideRetry, judgeResult, type RetryInput } from './decide-next';

describe('judge result', () => {
  const answered = (status: number) =>
    ({ kind: 'answered', status, retryAfter: undefined, wish: undefined, body: '', timings: {} }) as const;

  describe('judgeResult', () => {
    it.each([
      [200, 'delivered'],
      [201, 'delivered'],
      [204, 'delivered'],
      [226, 'delivered'],
      [299, 'delivered'],
      [100, 'http_1xx'],
      [101, 'http_1xx'],
      [199, 'http_1xx'],
      [300, 'http_3xx'],
      [301, 'http_3xx'],
      [302, 'http_3xx'],
      [304, 'http_3xx'],
      [399, 'http_3xx'],
      [400, 'http_4xx'],
      [404, 'http_4xx'],
      [410, 'http_4xx'],
      [429, 'http_4xx'],
      [499, 'http_4xx'],
      [500, 'http_5xx'],
      [503, 'http_5xx'],
      [599, 'http_5xx'],
      [0, 'protocol_error'],
      [99, 'protocol_error'],
      [600, 'protocol_error'],
      [999, 'protocol_error'],
    ])('judges an answer with status %d as %s', (status, outcome) => {
      expect(judgeResult(answered(status))).toBe(outcome);
    });

    it.each(['dns_error', 'connect_refused', 'response_timeout', 'tls_error'] as const)(
      'takes the reason %s of a failure as it is',
      (reason) => {
        expect(judgeResult({ kind: 'failed', reason, error: 'why', timings: {} })).toBe(reason);
      },
    );
  });
});

describe('retry policy', () => {
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
});
