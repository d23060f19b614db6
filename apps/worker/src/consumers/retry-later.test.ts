import { RetryLater } from './retry-later';

describe('RetryLater.delayOf', () => {
  it.each([
    [5_000, 5_000],
    [1, 1],
    // BullMQ would run the job at once, at the end of the queue, which is no retry after a delay.
    [0, 1],
  ])('gives the delay of %d ms as %d ms', (delayMs, expected) => {
    expect(RetryLater.delayOf(new RetryLater(delayMs, 'http_5xx'))).toBe(expected);
  });

  it('gives five seconds for an error that nobody has foreseen', () => {
    expect(RetryLater.delayOf(new Error('WRONGTYPE'))).toBe(5_000);
    expect(RetryLater.delayOf(undefined)).toBe(5_000);
  });
});

describe('RetryLater', () => {
  it('says why, without a stack, since BullMQ stores both with each job that waits', () => {
    const { message, stack } = new RetryLater(5_000, 'http_5xx');
    expect({ message, stack }).toEqual({ message: 'http_5xx', stack: '' });
  });
});
