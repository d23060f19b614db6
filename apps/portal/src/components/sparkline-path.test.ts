import { pathOf } from './sparkline-path';

it('draws a line through what was measured, and leaves gaps where nothing was', () => {
  expect(pathOf([0, 10, null, 5, null], 10)).toBe('M2 22L25 2M69.5 12h3');
});

it('stays inside, whatever the values', () => {
  expect(pathOf([20], 10)).toBe('M0.5 2h3');
  expect(pathOf([], 1)).toBe('');
});
