import { CLOSED, decodeBreaker, decodeFailingSince, phaseOf, standingOfBreaker } from './breaker';

const NOW = 1_700_000_000_000;

describe('phaseOf', () => {
  it.each([
    ['closed as long as it has never opened', CLOSED, 'closed'],
    ['closed while there are failures, but too few of them', { failures: 4, openUntil: 0 }, 'closed'],
    ['open until its time has come', { failures: 10, openUntil: NOW + 1 }, 'open'],
    ['half-open when its time has come', { failures: 10, openUntil: NOW }, 'half_open'],
    ['half-open for as long as nobody probes', { failures: 10, openUntil: 1 }, 'half_open'],
  ] as const)('is %s', (_what, state, phase) => {
    expect(phaseOf(state, NOW)).toBe(phase);
  });
});

describe('standingOfBreaker', () => {
  it.each([
    ['the next probe', { failures: 10, openUntil: NOW + 1 }, { phase: 'open', nextTryAt: NOW + 1 }],
    [
      'no time while one is under way',
      { failures: 10, openUntil: NOW + 1, isProbing: true },
      { phase: 'half_open' },
    ],
    ['no time when it has come', { failures: 10, openUntil: NOW }, { phase: 'half_open' }],
    ['no time where none is needed', CLOSED, { phase: 'closed' }],
  ] as const)('tells %s', (_what, state, standing) => {
    expect(standingOfBreaker(state, NOW)).toEqual({ nextTryAt: undefined, ...standing });
  });
});

describe('decodeBreaker', () => {
  it.each([
    ['closed without a record', undefined, CLOSED],
    ['closed where Redis has none', null, CLOSED],
    ['what a record says', '10 1700000000000 1699999999000 1', { failures: 10, openUntil: NOW }],
    [
      'that a probe is under way',
      '10 1700000000000 1 0 1',
      { failures: 10, openUntil: NOW, isProbing: true },
    ],
    ['what an older record says, which has no more than that', '3 0', { failures: 3, openUntil: 0 }],
  ] as const)('gives %s', (_what, stored, state) => {
    expect(decodeBreaker(stored)).toEqual(state);
  });
});

describe('decodeFailingSince', () => {
  it.each([
    ['when the first failure was', '10 1700000000000 1699999999000 1', NOW - 1_000],
    ['nothing of an older record', '3 0', undefined],
    ['nothing without a record', null, undefined],
  ] as const)('gives %s', (_what, stored, since) => {
    expect(decodeFailingSince(stored)).toBe(since);
  });
});
