import { parseCount, parseHeader, parseId, parseList, parseMember, parsePositive } from './parse-flags';

it('reads numbers, lists, headers and members', () => {
  expect(parseCount('0')).toBe(0);
  expect(parsePositive('20')).toBe(20);
  expect(parseList('a, b', ['c'])).toEqual(['c', 'a', 'b']);
  expect(parseHeader('X-A: b: c', { y: 'z' })).toEqual({ y: 'z', 'X-A': 'b: c' });
  expect(parseMember('team=a=b')).toEqual({ team: 'a=b' });
});

it.each([
  [parseCount, '-1'],
  [parseCount, '1e3'],
  [parseCount, ''],
  [parsePositive, '0'],
  [parseList, 'a,,b'],
  [parseHeader, 'no colon'],
  [parseMember, '=value'],
  [parseId, ''],
  [parseId, '..'],
  [parseId, 'two words'],
])('%p refuses %p', (parse, text) => {
  expect(() => parse(text)).toThrow('It must be');
});
