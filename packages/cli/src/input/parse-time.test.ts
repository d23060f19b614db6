import { parseDuration, parseTime, parseTimeAhead } from './parse-time';

const NOW = Date.parse('2026-11-21T16:00:00Z');

it.each([
  ['2h', '2026-11-21T14:00:00.000Z'],
  ['90s', '2026-11-21T15:58:30.000Z'],
  ['2026-11-21T16:00:00+01:00', '2026-11-21T15:00:00.000Z'],
  ['2026-11-21T15:00:00.5Z', '2026-11-21T15:00:00.500Z'],
])('reads %s as %s', (text, time) => {
  expect(parseTime(text, NOW)).toBe(time);
});

it.each(['', 'yesterday', '2h ago', '2026-11-21', '2026-11-21T16:00:00', '2026-13-21T16:00:00Z', '-1h'])(
  'refuses %p',
  (text) => {
    expect(() => parseTime(text, NOW)).toThrow('It must be');
  },
);

it('reads durations in milliseconds', () => {
  expect(['1s', '15m', '7d'].map(parseDuration)).toEqual([1_000, 900_000, 604_800_000]);
});

it('speaks of the past where a time is in the past, and of the future where it is ahead', () => {
  expect(() => parseTime('tomorrow')).toThrow('how long ago');
  expect(() => parseTimeAhead('tomorrow')).toThrow('in how long');
});

describe('parseTimeAhead', () => {
  it.each([
    ['2h', '2026-11-21T14:00:00.000Z'],
    ['2026-11-22T12:00:00+01:00', '2026-11-22T11:00:00.000Z'],
  ])('reads %s', (text, time) => {
    expect(parseTimeAhead(text, Date.UTC(2026, 10, 21, 12))).toBe(time);
  });
});
