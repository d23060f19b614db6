import * as fc from 'fast-check';
import { passedJsonBound } from './json-bounds';

const NONE = { maxDepth: Infinity, maxValues: Infinity };
const passed = (json: string, bounds: Partial<typeof NONE>) =>
  passedJsonBound(Buffer.from(json), { ...NONE, ...bounds });
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('the depth of a text', () => {
  it.each([
    ['arrays within each other', nested(3)],
    ['objects in arrays', '[{"a":[1]}]'],
    ['what is deepest in the middle', '[[],[[1]],[]]'],
    ['what never closes', '[[['],
    ['brackets behind a string that ends with an escaped backslash', '["\\\\",[[]]]'],
    ['brackets behind a string with an escaped quote', '["\\"",[[]]]'],
  ])('is that of %s', (_what, json) => {
    expect(passed(json, { maxDepth: 3 })).toBeUndefined();
    expect(passed(json, { maxDepth: 2 })).toBe('depth');
  });

  it.each(['"[[[["', '{"[[[[":1}', '["\\"[[[["]', '["🚀[[[[é"]', '"[[[['])(
    'is not made of brackets in strings: %s',
    (json) => {
      expect(passed(json, { maxDepth: 1 })).toBeUndefined();
    },
  );

  it('is found in a text that is deeper than any program could walk', () => {
    expect(passed(nested(1_000_000), { maxDepth: 128 })).toBe('depth');
  });
});

describe('the values of a text', () => {
  it.each([
    ['items', '[1,2,3]'],
    ['members', '{"a":1,"b":2,"c":3}'],
    ['those at all depths', '[1,{"a":1}]'],
    ['texts with commas in them as one', '[",,,,","\\",,,",3]'],
  ])('are %s', (_what, json) => {
    expect(passed(json, { maxValues: 3 })).toBeUndefined();
    expect(passed(json, { maxValues: 2 })).toBe('values');
  });

  it('are never more than what counts and one, nor half of it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value);
        const count = countOf(value);
        expect(passed(json, { maxValues: 2 * count })).toBeUndefined();
        expect(passed(json, { maxValues: count - 2 })).toBe('values');
      }),
    );
  });
});

function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, one) => sum + countOf(one), 1);
}
