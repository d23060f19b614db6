import * as fc from 'fast-check';
import { jsonText as json, jsonSpace as space } from '../testing/json-texts';
import { depthOf, textOfMember } from './json';

describe('textOfMember', () => {
  it.each([
    ['a member', '{"type":"a","data":{"b":1}}', '{"b":1}'],
    ['a number that no double can hold', '{"data":9007199254740993}', '9007199254740993'],
    ['a number beyond every double', '{"data":1e400}', '1e400'],
    ['a number in an unusual spelling', '{"data": -0 }', '-0'],
    ['white space within', '{ "data" :\n{ "b" :\t1.0 } }', '{ "b" :\t1.0 }'],
    ['brackets, commas and quotes within strings', '{"data":["}\\"]",","]}', '["}\\"]",","]'],
    ['a backslash at the end of a string', '{"a":"\\\\","data":"\\\\"}', '"\\\\"'],
    ['the last of several', '{"data":1,"data":2,"type":3}', '2'],
    ['a name that is written with escapes', '{"d\\u0061ta":true}', 'true'],
    ['names twice within', '{"data":{"b":1,"b":2}}', '{"b":1,"b":2}'],
    ['__proto__ within', '{"data":{"__proto__":{"b":1}}}', '{"__proto__":{"b":1}}'],
  ])('gives %s as it stands there', (_what, object, expected) => {
    expect(textOfMember(object, 'data')).toBe(expected);
  });

  it.each(['{}', '{ }', '{"a":{"data":1}}', '{"a":"data"}', '[{"data":1}]', '"data"', '1', 'null'])(
    'gives nothing of %s, which has no such member',
    (other) => {
      expect(textOfMember(other, 'data')).toBeUndefined();
    },
  );

  it('gives the exact text of any value, whatever stands around it', () => {
    fc.assert(
      fc.property(json, json, space, (value, other, gap) => {
        const object = `${gap}{${gap}"data":${other},"other":${other}${gap},${gap}"data"${gap}:${gap}${value}${gap}}`;
        expect(textOfMember(object, 'data')).toBe(value);
      }),
    );
  });

  it('agrees with JSON.parse on which member it is', () => {
    fc.assert(
      fc.property(json, (value) => {
        const parsed: unknown = JSON.parse(value);
        const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
        const found = textOfMember(value, 'data');
        expect(found === undefined ? undefined : JSON.parse(found)).toEqual(
          isObject && Object.hasOwn(parsed, 'data') ? (parsed as { data: unknown }).data : undefined,
        );
      }),
    );
  });
});

describe('depthOf', () => {
  it.each([
    ['1', 0],
    ['"[[["', 0],
    ['[]', 1],
    ['[[],{"a":[1]}]', 3],
    ['{"a":"\\"[","b":{}}', 2],
  ])('of %s is %d', (value, depth) => {
    expect(depthOf(value)).toBe(depth);
  });

  it('counts what is far deeper than any program could walk', () => {
    expect(depthOf('['.repeat(100_000) + ']'.repeat(100_000))).toBe(100_000);
  });
});
