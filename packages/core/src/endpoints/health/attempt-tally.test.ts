import { buildFailedAttempt } from '../../testing/build-attempt';
import {
  addDurations,
  addTallies,
  countDuration,
  decodeDurations,
  encodeDurations,
  firstHourKept,
  HOURS_KEPT,
  hourOf,
  NO_DURATIONS,
  percentileOf,
  recentAttempts,
  tallyOf,
} from './attempt-tally';

describe('attempt tally', () => {
  const HOUR_MS = 3_600_000;
  const NOON = 472_236 * HOUR_MS;

  const failed = buildFailedAttempt();
  const quick = countDuration(40);
  const slow = countDuration(5_000);

  it.each([undefined, failed])(
    'counts an attempt of several deliveries as that of each: failed %j',
    (failedAttempt) => {
      const attempt = { failed: failedAttempt, at: NOON, durationMs: 40 };
      const each = [tallyOf(attempt), tallyOf(attempt), tallyOf(attempt)];
      expect(tallyOf(attempt, 3)).toEqual(each.reduce(addTallies));
    },
  );

  describe('addTallies', () => {
    it('adds up hour by hour, and keeps the latest of each kind', () => {
      const tallies = [
        tallyOf({ at: NOON + 2, durationMs: 40 }),
        tallyOf({ at: NOON + 1, durationMs: 40 }),
        tallyOf({ failed: buildFailedAttempt(), at: NOON + 3, durationMs: 5_000 }),
        tallyOf({ failed, at: NOON + HOUR_MS, durationMs: 5_000 }),
      ];
      expect(tallies.reduce(addTallies)).toEqual({
        hours: [
          {
            hour: hourOf(NOON),
            successes: 2,
            failures: 1,
            durations: [quick, quick, slow].reduce(addDurations),
          },
          { hour: hourOf(NOON) + 1, successes: 0, failures: 1, durations: slow },
        ],
        lastSuccessAt: NOON + 2,
        lastFailure: { at: NOON + HOUR_MS, attempt: failed },
      });
    });
  });

  describe('recentAttempts', () => {
    const hours = [
      { hour: firstHourKept(NOON) - 1, successes: 100, failures: 100, durations: slow },
      { hour: firstHourKept(NOON), successes: 2, failures: 1, durations: NO_DURATIONS },
      { hour: hourOf(NOON), successes: 1, failures: 0, durations: quick },
    ];

    it('counts the present hour and the 23 before it', () => {
      expect(recentAttempts({ hours, lastSuccessAt: 1, lastFailure: { at: 1 } }, NOON)).toMatchObject({
        attempts: 4,
        successRate: 0.75,
      });
    });

    it('knows no rate and no duration where there were no attempts', () => {
      expect(recentAttempts({ hours: [], lastSuccessAt: 1, lastFailure: { at: 1 } }, NOON)).toMatchObject({
        attempts: 0,
        successRate: undefined,
        p95Ms: undefined,
      });
    });

    it('gives each of these hours, the oldest first, and no duration where none is known', () => {
      const recent = recentAttempts({ hours, lastSuccessAt: 1, lastFailure: { at: 1 } }, NOON);
      const [first, ...others] = recent.hours;
      expect(recent.hours).toHaveLength(HOURS_KEPT);
      expect(first).toEqual({ at: NOON - 23 * HOUR_MS, successes: 2, failures: 1, p95Ms: undefined });
      expect(others.at(-1)).toEqual({ at: NOON, successes: 1, failures: 0, p95Ms: recent.p95Ms });
      expect(others.at(0)).toEqual({ at: NOON - 22 * HOUR_MS, successes: 0, failures: 0, p95Ms: undefined });
    });
  });
});

describe('duration counts', () => {
  const countAll = (durations: readonly number[]) =>
    durations.map((each) => countDuration(each)).reduce(addDurations);

  describe('percentileOf', () => {
    it('is within an eighth of what it is, whatever the durations', () => {
      for (let duration = 1; duration < 100_000; duration *= 1.01) {
        const told = percentileOf(countAll([duration, duration, duration]), 0.95) ?? 0;
        expect(Math.abs(told - duration) / duration).toBeLessThan(1 / 8);
      }
    });

    it('is what so large a share of them took at most', () => {
      const durations = Array.from({ length: 100 }, (_, i) => 1.1 ** i);
      const told = percentileOf(countAll(durations), 0.95) ?? 0;
      const exact = durations[94] ?? 0;
      expect(Math.abs(told - exact) / exact).toBeLessThan(1 / 8);
    });

    it('takes what is below a millisecond, and what is longer than two minutes', () => {
      expect(percentileOf(countDuration(0), 0.95)).toBeLessThan(1);
      expect(percentileOf(countDuration(10 * 60_000), 0.95)).toBeGreaterThan(100_000);
    });

    it('is not known of none', () => {
      expect(percentileOf(NO_DURATIONS, 0.95)).toBeUndefined();
    });
  });

  describe('what is stored of durations', () => {
    it('is short, and comes back as it was', () => {
      const counts = countAll([0.2, 38, 39, 41, 5_000, 10 * 60_000]);
      const text = encodeDurations(counts);
      expect(text).toMatch(/^([a-zA-Z]\d+)+$/);
      expect(text.length).toBeLessThan(16);
      expect(decodeDurations(text)).toEqual(counts);
    });

    it('is nothing for none, also of a record that has none', () => {
      expect(encodeDurations(NO_DURATIONS)).toBe('');
      expect(decodeDurations('')).toBe(NO_DURATIONS);
    });
  });
});
