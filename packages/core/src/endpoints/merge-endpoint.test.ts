import * as fc from 'fast-check';
import { mergePatch } from './merge-endpoint';

describe('mergePatch', () => {
  // The test cases of RFC 7396, Appendix A.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('makes of %j by %j: %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  it('takes what is undefined for not said', () => {
    expect(mergePatch({ a: 'b' }, { a: undefined, c: undefined })).toStrictEqual({ a: 'b' });
  });

  it('changes no prototype, whatever a member is called', () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__":{"isAdmin":true}}'));
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(merged).not.toHaveProperty('isAdmin');
  });

  it('takes a member called __proto__ for data, at every depth', () => {
    const merged = mergePatch({}, JSON.parse('{"a": {"__proto__": {"polluted": true}}}'));
    expect(JSON.stringify(merged)).toBe('{"a":{"__proto__":{"polluted":true}}}');
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('whatever target and patch are', () => {
  // As they come out of JSON.parse, members called __proto__ included.
  const json = fc.json().map((text) => JSON.parse(text) as unknown);

  it('applying a patch twice is the same as once', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = mergePatch(target, patch);
        expect(JSON.stringify(mergePatch(once, patch))).toBe(JSON.stringify(once));
      }),
    );
  });

  it('an empty patch changes no object, and neither input is touched', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), json, (target, patch) => {
        const before = [JSON.stringify(target), JSON.stringify(patch)];
        expect(JSON.stringify(mergePatch(target, {}))).toBe(before[0]);
        mergePatch(target, patch);
        expect([JSON.stringify(target), JSON.stringify(patch)]).toEqual(before);
      }),
    );
  });
});
