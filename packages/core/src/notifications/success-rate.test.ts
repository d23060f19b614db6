import { hourOf } from '../endpoints/health/attempt-tally';
import {
  checkedEveryMs,
  decodeRate,
  encodeRate,
  followRate,
  hoursToRead,
  isLastingLow,
  LEAST_ATTEMPTS,
  type RateState,
} from './success-rate';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const policy = { below: 0.5, forMs: 15 * MINUTE };
const START = 472_000 * HOUR + 30 * MINUTE;

/** Follow an endpoint that has so many successes and failures in each part. */
function follow(parts: readonly (readonly [number, number])[], startedAt = START, rules = policy) {
  const hours = new Map<number, { hour: number; successes: number; failures: number }>();
  let state: RateState | undefined;
  const states: (RateState | undefined)[] = [];
  for (const [index, [successes, failures]] of parts.entries()) {
    const now = startedAt + (index + 1) * checkedEveryMs(rules);
    const hour = hourOf(now);
    const known = hours.get(hour) ?? { hour, successes: 0, failures: 0 };
    hours.set(hour, {
      hour,
      successes: known.successes + successes,
      failures: known.failures + failures,
    });
    const wanted = hoursToRead(state, now);
    const counts = wanted.map((each) => hours.get(each) ?? { hour: each, successes: 0, failures: 0 });
    state = followRate(state && decodeRate(encodeRate(state)), counts, now, rules);
    states.push(state);
  }
  return states;
}

const isLow = (state: RateState | undefined) => state !== undefined && isLastingLow(state, policy);
const parts = (count: number, each: readonly [number, number]) => Array.from({ length: count }, () => each);

describe('followRate', () => {
  it.each([
    ['on a quiet clock', START],
    ['over the end of an hour', START + 25 * MINUTE],
  ])('tells when fewer than half have succeeded for fifteen minutes, %s', (_when, startedAt) => {
    const states = follow(parts(7, [4, 6]), startedAt);
    expect(states.map(isLow)).toEqual([false, false, false, false, false, true, true]);
  });

  it('does not tell while half of them succeed', () => {
    expect(follow(parts(20, [5, 5])).some(isLow)).toBe(false);
  });

  it('begins anew after a part in which enough have succeeded', () => {
    const states = follow([...parts(4, [0, 6]), [6, 0], ...parts(6, [0, 6])]);
    expect(states.map(isLow).indexOf(true)).toBe(9);
    expect(states[4]).not.toHaveProperty('lowSince');
  });

  it('goes on over parts without attempts, and stays as it was', () => {
    const states = follow([...parts(7, [0, 6]), ...parts(30, [0, 0])]);
    expect(states.slice(6).every(isLow)).toBe(true);
  });

  it('does not tell of too few attempts', () => {
    const few = follow([[0, 1], ...parts(LEAST_ATTEMPTS - 1, [0, 1])]);
    expect(few.some(isLow)).toBe(false);
    expect(isLow(follow([[0, 1], ...parts(LEAST_ATTEMPTS, [0, 1])]).at(-1))).toBe(true);
  });

  it('remembers nothing of an endpoint that has not failed lately', () => {
    expect(follow(parts(5, [10, 0]))).toEqual(parts(5, [0, 0]).map(() => undefined));
    expect(follow([[5, 1], [5, 0], ...parts(20, [0, 0])]).at(-1)).toBeUndefined();
  });

  it('begins anew when its last reading is older than what is kept', () => {
    const [first] = follow([[0, 3]]);
    const now = START + 30 * HOUR;
    expect(hoursToRead(first, now)).toEqual([hourOf(now)]);
    const counts = [{ hour: hourOf(now), successes: 0, failures: 2 }];
    expect(followRate(first, counts, now, policy)).toEqual({ at: now, successes: 0, failures: 2 });
  });
});
