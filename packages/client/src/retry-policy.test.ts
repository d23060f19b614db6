import { WebhooksApiError } from './api-error';
import { WebhooksConnectionError } from './connection-error';
import { readRetryAfter } from './retry-after';
import { retryDelayMs } from './retry-policy';

const cutOff = new WebhooksConnectionError('connection_failed', 'cut', undefined);
const refusedFor = (retryAfterSeconds: number | undefined) =>
  new WebhooksApiError('GET /', {
    status: 429,
    code: 'rate_limited',
    detail: '',
    requestId: undefined,
    retryAfterSeconds,
  });

describe('the delay before a retry', () => {
  it('is what the service asked for', () => {
    expect(retryDelayMs(refusedFor(2), 3, 0.9)).toBe(2_000);
    expect(retryDelayMs(refusedFor(0), 3, 0.9)).toBe(0);
  });

  it('doubles up to a bound otherwise, and half of it is left to chance', () => {
    const least = [1, 2, 3, 4, 5, 6].map((retry) => retryDelayMs(cutOff, retry, 0));
    const most = [1, 2, 3, 4, 5, 6].map((retry) => retryDelayMs(refusedFor(undefined), retry, 0.99999));
    expect(least).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000]);
    expect(most).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000]);
  });
});

describe('Retry-After', () => {
  const NOW_MS = Date.parse('2026-11-21T16:00:00Z');

  it.each([
    ['7', 7],
    ['0', 0],
    ['Sat, 21 Nov 2026 16:00:30 GMT', 30],
    ['Sat, 21 Nov 2026 15:00:00 GMT', 0],
    ['soon', undefined],
    ['-1', undefined],
    [null, undefined],
  ])('%j means %j seconds', (value, seconds) => {
    expect(readRetryAfter(value, NOW_MS)).toBe(seconds);
  });
});
