import { type Coding, chooseCoding, codings } from './choose-coding';

it.each<[string | undefined, Coding]>([
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
  ['GZIP;q=0.5, BR;Q=0.2', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br; q=0.9 , gzip ;q=1.0', 'gzip'],
  ['br;q=0, gzip;q=0.000', 'identity'],
  ['*', 'br'],
  ['*;q=0.5, br;q=0', 'gzip'],
  ['identity', 'identity'],
  ['identity, gzip;q=0.5', 'identity'],
  ['gzip;q=0.001', 'gzip'],
  ['identity;q=0, br', 'br'],
  ['identity;q=0', 'identity'],
  ['*;q=0', 'identity'],
  ['br;q=oops', 'identity'],
  ['deflate, zstd', 'identity'],
  [',,;;q=1', 'identity'],
])('answers "Accept-Encoding: %s" by %s', (header, coding) => {
  expect(chooseCoding(header, codings)).toBe(coding);
});

it('chooses among those that there are', () => {
  expect(chooseCoding('br, gzip', ['gzip', 'identity'])).toBe('gzip');
  expect(chooseCoding('br, gzip', ['identity'])).toBe('identity');
});
