import {
  formatBytes,
  formatCount,
  formatList,
  formatMs,
  formatNumber,
  formatPercent,
  formatRow,
} from './formats';

it.each([
  [0.44, '0.4 ms'],
  [38.2, '38 ms'],
  [400, '400 ms'],
  [4_259, '4.3 s'],
  [61_000, '61 s'],
  [300_000, '5 min'],
  [9_000_000, '2.5 h'],
  [259_200_000, '3 d'],
  [null, '–'],
])('says %s ms as %s', (ms, text) => {
  expect(formatMs(ms)).toBe(text);
});

it('writes counts, numbers, shares and lists', () => {
  expect(formatCount(12_345)).toBe('12,345');
  expect(formatNumber(1_234.56)).toBe('1,234.6');
  expect([formatPercent(0.3333), formatPercent(0.9951, 1)]).toEqual(['33%', '99.5%']);
  expect([formatList(['a', 'b', 'c']), formatList(['a', 'b'], 'or')]).toEqual(['a, b, and c', 'a or b']);
  expect([formatRow(['a', 'b', 'c']), formatRow([])]).toEqual(['a, b, c', '']);
});

it.each([
  [0, '0 B'],
  [1_023, '1,023 B'],
  [1_536, '1.5 KiB'],
  [1_048_576, '1 MiB'],
  [500 * 2 ** 30, '500 GiB'],
  [Number.MAX_SAFE_INTEGER, '8 PiB'],
])('says %d bytes as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
