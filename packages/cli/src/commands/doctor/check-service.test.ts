import { clockOf } from './check-service';

const NOW = Date.parse('2026-11-21T16:00:00Z');

it.each([
  ['Sat, 21 Nov 2026 16:00:10 GMT', 'good', '10 s behind the API'],
  ['Sat, 21 Nov 2026 15:59:00 GMT', 'bad', '60 s ahead of the API'],
  [null, 'doubtful', 'the response has no time'],
])('with the time %p the clock is %s', (date, state, detail) => {
  expect(clockOf(date, NOW)).toMatchObject({ state, detail });
});
