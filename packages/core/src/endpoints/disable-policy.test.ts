import { hasFailedForTooLong } from './disable-policy';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = 1_700_000_000_000;
const POLICY = { afterMs: 5 * DAY, failureSpanMs: 12 * HOUR };

describe('hasFailedForTooLong', () => {
  it.each([
    ['the last success was 5 days ago', { lastSuccessAgo: 5 * DAY, failingFor: 4 * DAY }, true],
    ['the last success was a little less ago', { lastSuccessAgo: 5 * DAY - 1, failingFor: 4 * DAY }, false],
    ['there never was one', { enabledAgo: 5 * DAY, failingFor: 4 * DAY }, true],
    ['it was enabled a little less than 5 days ago', { enabledAgo: 5 * DAY - 1, failingFor: 4 * DAY }, false],
    [
      'it was enabled after its last success',
      { enabledAgo: DAY, lastSuccessAgo: 9 * DAY, failingFor: DAY },
      false,
    ],
    ['its failures are 12 hours apart', { lastSuccessAgo: 9 * DAY, failingFor: 12 * HOUR }, true],
    ['they are a little less apart', { lastSuccessAgo: 9 * DAY, failingFor: 12 * HOUR - 1 }, false],
    ['this is the first of them', { lastSuccessAgo: 9 * DAY, failingFor: 0 }, false],
    [
      'they are on record from before the last success, and it is 5 days ago',
      { lastSuccessAgo: 5 * DAY, failingFor: 6 * DAY },
      true,
    ],
    [
      'they are on record from before the last success, which was yesterday',
      { lastSuccessAgo: DAY, failingFor: 6 * DAY },
      false,
    ],
  ])('when %s', (_when, { enabledAgo = 100 * DAY, lastSuccessAgo, failingFor }: Ago, expected) => {
    expect(
      hasFailedForTooLong(POLICY, {
        enabledAt: NOW - enabledAgo,
        lastSuccessAt: lastSuccessAgo === undefined ? undefined : NOW - lastSuccessAgo,
        failingSince: NOW - failingFor,
        now: NOW,
      }),
    ).toBe(expected);
  });
});

interface Ago {
  readonly enabledAgo?: number;
  readonly lastSuccessAgo?: number;
  readonly failingFor: number;
}
