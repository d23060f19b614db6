import { formatRate } from './health-figures';

it.each([
  [1, '100%'],
  [0.99999, '99.99%'],
  // As the API cuts it, and not cut yet.
  [0.8888, '88.88%'],
  [8 / 9, '88.88%'],
  [0.57, '57%'],
  [null, '–'],
])('shows a rate of %p as %s', (rate, text) => {
  expect(formatRate(rate)).toBe(text);
});
