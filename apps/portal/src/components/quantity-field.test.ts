import { MIBIBYTES, shownIn, storedOf } from './quantity-field';

const SECONDS = { name: 'seconds', factor: 1_000 };

it.each([
  ['', ''],
  ['30000', '30'],
  ['1500', '1.5'],
  ['0', '0'],
  ['soon', 'soon'],
])('shows %s milliseconds as %s seconds, and gets them back', (stored, shown) => {
  expect([shownIn(SECONDS, stored), storedOf(SECONDS, shown)]).toEqual([shown, stored]);
});

it.each([
  ['1.', '1000'],
  ['1,5', '1500'],
  [' 2 ', '2000'],
  [' ', ''],
  ['0.0004', '0'],
])('takes %s as %s milliseconds', (typed, stored) => {
  expect(storedOf(SECONDS, typed)).toBe(stored);
});

it('has whole bytes of a part of a MiB', () => {
  expect(storedOf(MIBIBYTES, '0.1')).toBe('104858');
});
