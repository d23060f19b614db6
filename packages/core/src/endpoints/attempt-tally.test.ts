import { addTallies, firstHourKept, HOURS_KEPT, hourOf, recentAttempts, tallyOf } from './attempt-tally';
import { addDurations, countDuration, NO_DURATIONS } from './duration-counts';

const HOUR_MS = 3_600_000;
const NOON = 472_236 * HOUR_MS;

const quick = countDuration(40);
const slow = countDuration(5_000);

describe('addTallies', () => {
  it('adds up hour by hour, and keeps the latest of each kind', () => {
    const tallies = [
      tallyOf({ delivered: true, at: NOON + 2, durationMs: 40 }),
      tallyOf({ delivered: true, at: NOON + 1, durationMs: 40 }),
      tallyOf({ delivered: false, at: NOON + 3, durationMs: 5_000 }),
      tallyOf({ delivered: false, at: NOON + HOUR_MS, durationMs: 5_000 }),
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
      lastFailureAt: NOON + HOUR_MS,
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
    expect(recentAttempts({ hours, lastSuccessAt: 1, lastFailureAt: 1 }, NOON)).toMatchObject({
      attempts: 4,
      successRate: 0.75,
    });
  });

  it('knows no rate and no duration where there were no attempts', () => {
    expect(recentAttempts({ hours: [], lastSuccessAt: 1, lastFailureAt: 1 }, NOON)).toMatchObject({
      attempts: 0,
      successRate: undefined,
      p95Ms: undefined,
    });
  });

  it('tells of each of these hours, the oldest first, and of no duration where none is known', () => {
    const recent = recentAttempts({ hours, lastSuccessAt: 1, lastFailureAt: 1 }, NOON);
    const [first, ...others] = recent.hours;
    expect(recent.hours).toHaveLength(HOURS_KEPT);
    expect(first).toEqual({ at: NOON - 23 * HOUR_MS, successes: 2, failures: 1, p95Ms: undefined });
    expect(others.at(-1)).toEqual({ at: NOON, successes: 1, failures: 0, p95Ms: recent.p95Ms });
    expect(others.at(0)).toEqual({ at: NOON - 22 * HOUR_MS, successes: 0, failures: 0, p95Ms: undefined });
  });
});
