import { mergePatch } from './merge-patch';

// The test cases of RFC 7396, appendix A, whose target and patch are objects.
it.each([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('merges into %j the patch %j', (target, patch, merged) => {
  expect(mergePatch(target, patch)).toEqual(merged);
});

it('takes a member called __proto__ for data', () => {
  const patch = JSON.parse('{"a": {"__proto__": {"polluted": true}}}');
  const merged = mergePatch({}, patch);
  expect(JSON.stringify(merged)).toBe('{"a":{"__proto__":{"polluted":true}}}');
  expect(({} as { polluted?: true }).polluted).toBeUndefined();
});
