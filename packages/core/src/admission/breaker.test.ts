import { CLOSED, phaseOf } from './breaker';

const NOW = 1_700_000_000_000;

describe('phaseOf', () => {
  it.each([
    ['closed as long as it has never opened', CLOSED, 'closed'],
    ['closed while there are failures, but too few of them', { failures: 4, openUntil: 0 }, 'closed'],
    ['open until its time has come', { failures: 5, openUntil: NOW + 1 }, 'open'],
    ['half-open when its time has come', { failures: 5, openUntil: NOW }, 'half_open'],
    ['half-open for as long as nobody probes', { failures: 5, openUntil: 1 }, 'half_open'],
  ] as const)('is %s', (_what, state, phase) => {
    expect(phaseOf(state, NOW)).toBe(phase);
  });
});
