import * as fc from 'fast-check';

/**
 * JSON texts with details that JSON.parse does not keep: spellings of numbers, of strings, and white space.
 * --
 */
export const jsonSpace = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
const scalar = fc.oneof(
  fc.constantFrom('9007199254740993', '1.0', '1e400', '-0', '0.10', '1E+2', 'true', 'false', 'null'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
);
const text = fc.oneof(
  fc.string({ unit: 'binary' }).map((string) => JSON.stringify(string)),
  fc.constantFrom('"\\u0061\\/"', '"\\\\"', '"\\""', '"\\\\\\""', '"{[,]}:"', '"\\ud800"', '"🚀"', '""'),
);
const name = fc.oneof(
  text,
  fc.constantFrom('"data"', '"d\\u0061ta"', '"__proto__"', '"constructor"', '"data "'),
);

export const jsonText = fc.letrec<{ json: string; array: string; object: string }>((tie) => ({
  json: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, text, tie('array'), tie('object')),
  array: fc.array(tie('json')).chain((items) => spaced('[', items, ']')),
  object: fc.array(fc.tuple(name, jsonSpace, tie('json'))).chain((members) =>
    spaced(
      '{',
      members.map(([key, gap, value]) => `${key}${gap}:${gap}${value}`),
      '}',
    ),
  ),
})).json;

function spaced(open: string, parts: readonly string[], close: string): fc.Arbitrary<string> {
  return jsonSpace.map((gap) => `${open}${gap}${parts.join(`${gap},${gap}`)}${gap}${close}`);
}
