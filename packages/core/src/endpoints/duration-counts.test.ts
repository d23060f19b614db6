import {
  addDurations,
  countDuration,
  decodeDurations,
  encodeDurations,
  NO_DURATIONS,
  percentileOf,
} from './duration-counts';

const countAll = (durations: readonly number[]) => durations.map(countDuration).reduce(addDurations);

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
