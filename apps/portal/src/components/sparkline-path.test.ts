import { pathOf } from './sparkline-path';

it('draws one line through all that was measured, over gaps', () => {
  expect(pathOf([0, 10, null, 5, null], 10)).toBe('M2 22L25 2L71 12');
});

it('stays inside, whatever the values', () => {
  expect(pathOf([20], 10)).toBe('M2 2h0');
  expect(pathOf([], 1)).toBe('');
});
