import { disabledReasons } from '../model/endpoint';
import { buildEndpoint } from '../testing/build-endpoint';
import { disableEndpoint, enableEndpoint, updateTime } from './change-status';

const NOW = 1_700_000_060_000;

describe('disableEndpoint', () => {
  it.each(disabledReasons)('says why: %s', (reason) => {
    const endpoint = buildEndpoint();
    expect(disableEndpoint(endpoint, reason, NOW)).toEqual({
      ...endpoint,
      status: 'disabled',
      disabledReason: reason,
      updatedAt: NOW,
    });
  });

  it('changes nothing of one that is disabled, so that it keeps its first reason', () => {
    const endpoint = buildEndpoint({ status: 'disabled', disabledReason: 'gone' });
    expect(disableEndpoint(endpoint, 'client', NOW)).toEqual(endpoint);
  });
});

describe('enableEndpoint', () => {
  it('leaves no reason behind, and says since when', () => {
    const endpoint = buildEndpoint();
    const disabled = disableEndpoint(endpoint, 'gone', NOW);
    expect(enableEndpoint(disabled, NOW + 5)).toEqual({
      ...endpoint,
      enabledAt: NOW + 5,
      updatedAt: NOW + 5,
    });
  });

  it('changes nothing of one that is enabled', () => {
    const endpoint = buildEndpoint();
    expect(enableEndpoint(endpoint, NOW)).toEqual(endpoint);
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
