import { agoLastsMs, agoText } from './ago';

const NOW = Date.UTC(2030, 5, 15, 12);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('agoText', () => {
  it.each([
    [0, 'just now'],
    [9.9 * SECOND, 'just now'],
    [10 * SECOND, '10 s ago'],
    [59 * SECOND, '50 s ago'],
    [2 * MINUTE, '2 min ago'],
    [59.9 * MINUTE, '59 min ago'],
    [3 * HOUR, '3 h ago'],
    [DAY, '1 day ago'],
    [29.9 * DAY, '29 days ago'],
    [-5 * SECOND, 'now'],
    [-3 * HOUR, 'in 3 h'],
  ])('of %i ms before is %s', (ms, text) => {
    expect(agoText(NOW - ms, NOW)).toBe(text);
  });

  it('is a date from a month on, with the year where that is another one', () => {
    expect(agoText(NOW - 40 * DAY, NOW)).not.toMatch(/ago|2030/);
    expect(agoText(NOW - 400 * DAY, NOW)).toMatch(/2029/);
  });

  it.each([0, 12_345, 59_999, 61_000, 3_599_000, 7_300_000, 90_000_000, -1, -61_000, -7_300_000])(
    'of %i ms before stays until it is told to change, and not longer',
    (ms) => {
      const at = NOW - ms;
      const lastsMs = agoLastsMs(at, NOW);
      expect(lastsMs).toBeGreaterThan(0);
      expect(agoText(at, NOW + lastsMs - 2)).toBe(agoText(at, NOW));
      expect(agoText(at, NOW + lastsMs)).not.toBe(agoText(at, NOW));
    },
  );
});
