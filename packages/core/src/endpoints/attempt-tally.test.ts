import { addTallies, firstHourKept, hourOf, recentAttempts, tallyOf } from './attempt-tally';

const HOUR_MS = 3_600_000;
const NOON = 472_236 * HOUR_MS;

describe('addTallies', () => {
  it('adds up hour by hour, and keeps the latest of each kind', () => {
    const tallies = [
      tallyOf({ delivered: true, at: NOON + 2 }),
      tallyOf({ delivered: true, at: NOON + 1 }),
      tallyOf({ delivered: false, at: NOON + 3 }),
      tallyOf({ delivered: false, at: NOON + HOUR_MS }),
    ];
    expect(tallies.reduce(addTallies)).toEqual({
      hours: [
        { hour: hourOf(NOON), successes: 2, failures: 1 },
        { hour: hourOf(NOON) + 1, successes: 0, failures: 1 },
      ],
      lastSuccessAt: NOON + 2,
      lastFailureAt: NOON + HOUR_MS,
    });
  });
});

describe('recentAttempts', () => {
  const hours = [
    { hour: firstHourKept(NOON) - 1, successes: 100, failures: 100 },
    { hour: firstHourKept(NOON), successes: 2, failures: 1 },
    { hour: hourOf(NOON), successes: 1, failures: 0 },
  ];

  it('counts the present hour and the 23 before it', () => {
    expect(recentAttempts({ hours, lastSuccessAt: 1, lastFailureAt: 1 }, NOON)).toEqual({
      attempts: 4,
      successRate: 0.75,
    });
  });

  it('knows no rate where there were no attempts', () => {
    expect(recentAttempts({ hours: [], lastSuccessAt: 1, lastFailureAt: 1 }, NOON)).toEqual({
      attempts: 0,
      successRate: undefined,
    });
  });
});
