import { formatBytes } from '../../language/formats';
import { formatSeconds, formatShare } from './format';

it.each([
  [0, '0 s'],
  [0.26, '0.3 s'],
  [12.4, '12 s'],
  [119, '119 s'],
  [180, '3 min'],
  [7_200, '2 h'],
  [10_000_000, '116 d'],
])('says %d seconds as %s', (seconds, text) => {
  expect(formatSeconds(seconds)).toBe(text);
});

it.each([
  [0, 0, '0 %'],
  [1, 1_000, '< 1 %'],
  [1, 3, '33 %'],
  [5, 5, '100 %'],
])('says %d of %d as %s', (part, whole, text) => {
  expect(formatShare(part, whole)).toBe(text);
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
