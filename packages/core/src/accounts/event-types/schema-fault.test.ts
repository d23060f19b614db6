import { caughtFrom } from '../../testing/caught-from';
import { compileDataSchema } from './compile-data-schema';

function validationErrorsOf(schema: object): unknown {
  return caughtFrom(() => compileDataSchema(schema));
}

it.each<[string, object, string, RegExp]>([
  ['an invalid type', { type: 'objekt' }, '/schema/type', /^must be one of array, boolean/],
  [
    'one further down',
    { properties: { 'a/b': { minItems: -1 } } },
    '/schema/properties/a~1b/minItems',
    /^must be >= 0$/,
  ],
  [
    'a keyword that is misspelt',
    { properties: { a: { minLenght: 1 } } },
    '/schema/properties/a/minLenght',
    /did you mean "minLength"\?$/,
  ],
  [
    'an unknown keyword',
    { properties: { a: { allOf: [{ colour: 1 }] } } },
    '/schema/properties/a/allOf/0/colour',
    /^is not a keyword of JSON Schema \(2020-12\)$/,
  ],
  [
    'a keyword, and not a member or a value of the same name',
    { properties: { colour: { default: { colour: 1 } }, a: { colour: 1 } } },
    '/schema/properties/a/colour',
    /^is not a keyword/,
  ],
  [
    'a format that is misspelt',
    { items: { format: 'dat-time' } },
    '/schema/items/format',
    /did you mean "date-time"\?$/,
  ],
  [
    'a pattern',
    { properties: { a: { pattern: '(' } } },
    '/schema/properties/a/pattern',
    /missing closing \)/,
  ],
  [
    'a pattern of names',
    { patternProperties: { '[': {} } },
    '/schema/patternProperties',
    /missing closing \]/,
  ],
  [
    'a reference',
    { properties: { a: { $ref: 'http://example.com/a' } } },
    '/schema/properties/a/$ref',
    /^names nothing/,
  ],
  [
    'another version of JSON Schema',
    { $schema: 'http://json-schema.org/draft-07/schema#' },
    '/schema/$schema',
    /^must be https:/,
  ],
  [
    'an enumeration of nothing',
    { properties: { a: { enum: [] } } },
    '/schema/properties/a/enum',
    /^must have/,
  ],
  [
    '"then" on its own',
    { properties: { a: { then: {} } } },
    '/schema/properties/a/then',
    /^does nothing without "if"$/,
  ],
])('a schema that can not be relied on has a pointer to %s', (_what, schema, pointer, detail) => {
  expect(validationErrorsOf(schema)).toMatchObject({
    code: 'invalid_request',
    validationErrors: [{ pointer, detail: expect.stringMatching(detail) as string }],
  });
});
