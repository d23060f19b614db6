import { disabledReasons } from '../domain/endpoint';
import { buildEndpoint } from '../testing/build-endpoint';
import { asDisabled, asEnabled, hasFailedForTooLong, updateTime } from './disable';

describe('disable policy', () => {
  const HOUR = 3_600_000;
  const DAY = 24 * HOUR;
  const NOW = 1_700_000_000_000;
  const POLICY = { afterMs: 5 * DAY, failureSpanMs: 12 * HOUR };

  describe('hasFailedForTooLong', () => {
    it.each([
      ['the last success was 5 days ago', { lastSuccessAgo: 5 * DAY, failingFor: 4 * DAY }, true],
      ['the last success was a little less ago', { lastSuccessAgo: 5 * DAY - 1, failingFor: 4 * DAY }, false],
      ['there never was one', { enabledAgo: 5 * DAY, failingFor: 4 * DAY }, true],
      [
        'it was enabled a little less than 5 days ago',
        { enabledAgo: 5 * DAY - 1, failingFor: 4 * DAY },
        false,
      ],
      [
        'it was enabled after its last success',
        { enabledAgo: DAY, lastSuccessAgo: 9 * DAY, failingFor: DAY },
        false,
      ],
      ['its failures are 12 hours apart', { lastSuccessAgo: 9 * DAY, failingFor: 12 * HOUR }, true],
      ['they are a little less apart', { lastSuccessAgo: 9 * DAY, failingFor: 12 * HOUR - 1 }, false],
      ['this is the first of them', { lastSuccessAgo: 9 * DAY, failingFor: 0 }, false],
      [
        'they were recorded before the last success, and it is 5 days ago',
        { lastSuccessAgo: 5 * DAY, failingFor: 6 * DAY },
        true,
      ],
      [
        'they were recorded before the last success, which was yesterday',
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
});

describe('change status', () => {
  const NOW = 1_700_000_060_000;

  describe('asDisabled', () => {
    it.each(disabledReasons)('says why: %s', (reason) => {
      const endpoint = buildEndpoint();
      expect(asDisabled(endpoint, reason, NOW)).toEqual({
        ...endpoint,
        status: 'disabled',
        disabledReason: reason,
        updatedAt: NOW,
      });
    });

    it('changes nothing of one that is disabled, so that it keeps its first reason', () => {
      const endpoint = buildEndpoint({ status: 'disabled', disabledReason: 'gone' });
      expect(asDisabled(endpoint, 'client', NOW)).toEqual(endpoint);
    });
  });

  describe('asEnabled', () => {
    it('leaves no reason behind, and says since when', () => {
      const endpoint = buildEndpoint();
      const disabled = asDisabled(endpoint, 'gone', NOW);
      expect(asEnabled(disabled, NOW + 5)).toEqual({
        ...endpoint,
        enabledAt: NOW + 5,
        updatedAt: NOW + 5,
      });
    });

    it('changes nothing of one that is enabled', () => {
      const endpoint = buildEndpoint();
      expect(asEnabled(endpoint, NOW)).toEqual(endpoint);
    });
  });

  describe('updateTime', () => {
    it.each([
      [NOW, NOW - 1, NOW],
      [NOW, NOW, NOW + 1],
      [NOW, NOW + 9, NOW + 10],
    ])('at %i, of one changed at %i, is %i', (now, updatedAt, expected) => {
      expect(updateTime(buildEndpoint({ updatedAt }), now)).toBe(expected);
    });
  });
});
