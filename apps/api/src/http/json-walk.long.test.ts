import { jsonText, jsonSpace as space } from '@hookferry/core/testing/json-texts';
import * as fc from 'fast-check';
import { EACH, type JsonPath, JsonWalk } from './json-walk';

const NONE = { maxDepth: Infinity, maxValues: Infinity };
const walked = (json: string, bounds: Partial<typeof NONE> = {}, path?: JsonPath, pieceBytes?: number) => {
  const walk = new JsonWalk(Buffer.from(json), { ...NONE, ...bounds }, path);
  while (!walk.goOn(pieceBytes));
  return walk;
};
const passed = (json: string, bounds: Partial<typeof NONE>) => walked(json, bounds).passedBound;
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

const textsOf = (json: string, path: JsonPath, pieceBytes?: number) =>
  walked(json, {}, path, pieceBytes).texts();
const DATA = ['data'];
const DATA_OF_EACH: JsonPath = ['events', EACH, 'data'];

describe('the text of a member', () => {
  it.each([
    ['a member', '{"type":"a","data":{"b":1}}', '{"b":1}'],
    ['a number that no double can hold', '{"data":9007199254740993}', '9007199254740993'],
    ['a number in an unusual spelling', '{"data": -0 }', '-0'],
    ['white space within', '{ "data" :\n{ "b" :\t1.0 } }', '{ "b" :\t1.0 }'],
    ['brackets, commas, colons and quotes within strings', '{"data":[":}\\"]",","]}', '[":}\\"]",","]'],
    ['a colon at the end of a string', '{"data":":"}', '":"'],
    ['the last of several', '{"data":1,"data":2,"type":3}', '2'],
    ['a name that is written with escapes', '{"d\\u0061ta":true}', 'true'],
    ['letters beyond ASCII', '{"ü":"é","data":["é🚀"],"a":"ü"}', '["é🚀"]'],
    ['what stands behind a byte order mark', '\uFEFF{"data":1}', '1'],
    ['__proto__ within', '{"data":{"__proto__":{"b":1}}}', '{"__proto__":{"b":1}}'],
  ])('is that of %s, as it stands there', (_what, json, expected) => {
    expect(textsOf(json, DATA)).toEqual([expected]);
  });

  it.each([
    '{}',
    '{ }',
    '{"a":{"data":1}}',
    '{"a":"data"}',
    '{"dat":1}',
    '{"data ":1}',
    '{"d\\u0061tu":1}',
    '[{"data":1}]',
    '"data"',
    '1',
  ])('is not there in %s', (json) => {
    expect(textsOf(json, DATA)).toEqual([]);
  });

  it('is that of any value, whatever stands around it, in pieces of any size', () => {
    fc.assert(
      fc.property(jsonText, jsonText, space, fc.integer({ min: 1, max: 20 }), (value, other, gap, piece) => {
        const json = `${gap}{${gap}"data":${other},"other":${other}${gap},${gap}"data"${gap}:${gap}${value}${gap}}`;
        expect(textsOf(json, DATA, piece)).toEqual([value]);
      }),
    );
  });
});

it('agrees with JSON.parse on which member it is', () => {
  fc.assert(
    fc.property(jsonText, (json) => {
      const parsed: unknown = JSON.parse(json);
      const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
      expect(textsOf(json, DATA).map((text) => JSON.parse(text) as unknown)).toEqual(
        isObject && Object.hasOwn(parsed, 'data') ? [(parsed as { data: unknown }).data] : [],
      );
    }),
  );
});

describe('the texts of what each item has', () => {
  it('are those of any items, whatever they are', () => {
    fc.assert(
      fc.property(fc.array(jsonText), space, fc.integer({ min: 1, max: 20 }), (items, gap, piece) => {
        const json = `${gap}[${gap}${items.join(`${gap},${gap}`)}${gap}]${gap}`;
        expect(textsOf(json, [EACH], piece)).toEqual(items);
      }),
    );
  });

  it('are those of any data in a batch, and empty for an item that has none', () => {
    fc.assert(
      fc.property(fc.array(fc.option(jsonText)), jsonText, space, (values, other, gap) => {
        const items = values.map((value) =>
          value === null ? other : `{"a":${other},${gap}"data"${gap}:${value}${gap}}`,
        );
        const json = `{"a":${other},"events"${gap}:${gap}[${items.join(`${gap},`)}${gap}]}`;
        const ofOther = (JSON.parse(other) as { readonly data?: unknown } | null)?.data;
        fc.pre(ofOther === undefined);
        expect(textsOf(json, DATA_OF_EACH)).toEqual(values.map((value) => value ?? ''));
      }),
    );
  });

  it.each([
    ['the last of two lists', '{"events":[{"data":1},{"data":2}],"events":[{"data":3}]}', ['3']],
    ['none, when the last of two is no list', '{"events":[{"data":1}],"events":{"data":3}}', []],
    ['the last of two in an item', '{"events":[{"data":1,"data":[2]},{"data":3}]}', ['[2]', '3']],
    ['none deeper down', '{"events":[[{"data":1}],{"a":{"data":1}}],"a":{"events":[{"data":1}]}}', ['', '']],
  ])('are those of %s', (_what, json, expected) => {
    expect(textsOf(json, DATA_OF_EACH)).toEqual(expected);
  });
});

describe('a walk', () => {
  const BYTES = 1_000_000;
  const batch = (data: string) => `{"events":[{"type":"a","data":${data}}]}`;
  const half = BYTES / 2;

  it.each([
    ['white space', batch(' '.repeat(BYTES).concat('1'))],
    ['white space between all tokens', batch(`[${`1${' '.repeat(99)},`.repeat(BYTES / 101)}1]`)],
    ['one string', batch(`"${'x'.repeat(BYTES)}"`)],
    ['one string of escapes', batch(`"${'\\"'.repeat(half)}"`)],
    ['one string of backslashes', batch(`"${'\\\\'.repeat(half)}"`)],
    ['numbers of one digit', batch(`[${'1,'.repeat(half)}1]`)],
    ['empty strings', batch(`[${'"",'.repeat(BYTES / 3)}""]`)],
    ['long names', batch(`{${`"${'n'.repeat(5_000)}":1,`.repeat(BYTES / 5_005)}"a":1}`)],
    ['brackets', batch(`[${'[],'.repeat(BYTES / 3)}[]]`)],
    ['quotes that are no JSON', '"'.repeat(BYTES)],
    ['brackets that are no JSON', ']'.repeat(BYTES)],
  ])('goes on over so many bytes at a time, for %s', (_what, json) => {
    const pieceBytes = 10_000;
    const walk = new JsonWalk(Buffer.from(json), NONE, DATA_OF_EACH);
    let pieces = 1;
    while (!walk.goOn(pieceBytes)) pieces += 1;
    expect(pieces).toBeGreaterThanOrEqual(Math.floor(json.length / (pieceBytes + 5_010)));
  });
});

function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, one) => sum + countOf(one), 1);
}
