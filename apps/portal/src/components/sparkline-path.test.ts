import { pathOf, placesOf } from './sparkline-path';

it('draws one line through all that was measured, over gaps', () => {
  expect(pathOf(placesOf([0, 10, null, 5, null], 10))).toBe('M2 22L25 2L71 12');
});

it('stays inside, whatever the values', () => {
  expect(placesOf([20], 10)).toEqual([[2, 2]]);
  expect(pathOf(placesOf([], 1))).toBe('');
});
