import { runInNewContext } from 'node:vm';
import { compileDataSchema } from './compile-data-schema';

const invoice = {
  type: 'object',
  properties: { id: { type: 'string', minLength: 1 }, due: { type: 'string', format: 'date' } },
  required: ['id'],
  additionalProperties: false,
};

it('finds nothing wrong with data that are as the schema asks', () => {
  expect(compileDataSchema(invoice)({ id: 'inv_1', due: '2026-11-21' })).toEqual([]);
});

it.each([
  [{}, '/data/id'],
  [{ id: '' }, '/data/id'],
  [{ id: 'inv_1', due: 'soon' }, '/data/due'],
  [{ id: 'inv_1', colour: 'red' }, '/data/colour'],
  [{ id: 'inv_1', 'a/b~c': 1 }, '/data/a~1b~0c'],
  [[], '/data'],
])('says what is wrong with %j, and where', (data, pointer) => {
  expect(compileDataSchema(invoice)(data)).toEqual([{ pointer, detail: expect.stringMatching(/\S/) }]);
});

it.each([
  [{}, 'is required'],
  [{ id: 'inv_1', colour: 'red' }, 'is not a known member'],
])('says of the member that it points to what is wrong with it: %j', (data, detail) => {
  expect(compileDataSchema(invoice)(data)).toMatchObject([{ detail }]);
});

it('takes a member called __proto__ for data', () => {
  const check = compileDataSchema(invoice);
  expect(check(JSON.parse('{"id":"inv_1","__proto__":{}}'))).toHaveLength(1);
});

it.each([
  ['an unknown type', { type: 'text' }],
  ['an unknown keyword', { type: 'object', propertys: {} }],
  ['an unknown format', { type: 'string', format: 'colour' }],
  ['a reference to elsewhere', { $ref: 'https://schemas.example.com/invoice.json' }],
  ['another dialect', { $schema: 'http://json-schema.org/draft-07/schema#' }],
])('refuses a schema with %s', (_what, schema) => {
  expect(() => compileDataSchema(schema)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
});

it('takes the next version of a schema that has an $id', () => {
  const versioned = { ...invoice, $id: 'https://schemas.example.com/invoice' };
  compileDataSchema(versioned);
  expect(compileDataSchema({ ...versioned, required: [] })({})).toEqual([]);
});

// What takes years by a regular expression of JavaScript's own, or by comparing each with each, must end some time.
const PATIENCE_MS = 20_000;

it.each<[string, object, unknown]>([
  ['a pattern', { pattern: '^(a+)+$' }, `${'a'.repeat(100_000)}!`],
  [
    'a pattern of names',
    { type: 'object', patternProperties: { '^(a|a)*$': false } },
    { [`${'a'.repeat(1_000)}!`]: 1, aa: 1 },
  ],
  [
    'items that must differ',
    { type: 'array', uniqueItems: true },
    [{ a: 0 }, ...Array.from({ length: 100_000 }, (_, a) => ({ a }))],
  ],
])('is not kept busy by data that were made for %s', (_what, schema, data) => {
  const check = compileDataSchema(schema);
  expect(runInNewContext('check(data)', { check, data }, { timeout: PATIENCE_MS })).toHaveLength(1);
});

it('finds fault with data that lead a schema round and round', () => {
  const check = compileDataSchema({
    type: 'object',
    properties: { next: { $ref: '#/$defs/round' } },
    $defs: { round: { anyOf: [{ $ref: '#/$defs/round' }] } },
  });
  expect(check({})).toEqual([]);
  expect(check({ next: 1 })).toEqual([{ pointer: '/data', detail: expect.stringContaining('itself') }]);
});

it.each([['^(?!x)'], ['(?<=a)b'], ['(a)\\1'], ['(']])('refuses the pattern %s', (pattern) => {
  expect(() => compileDataSchema({ type: 'string', pattern })).toThrow(
    expect.objectContaining({ code: 'invalid_request' }),
  );
});

it.each([
  ['^\\d{4}-\\d\\d$', '2026-11', '2026-1x'],
  ['^[\\u00e0-\\u00ff]+$', 'éè', 'e'],
  ['^\\p{L}{3}$', 'Zoë', 'Zo1'],
  ['^.$', '😀', '😀😀'],
  ['^(?<first>a|b)/c$', 'a/c', 'c/c'],
  ['b', 'abc', 'ac'],
])('understands the pattern %s as anybody would', (pattern, good, bad) => {
  const check = compileDataSchema({ type: 'string', pattern });
  expect(check(good)).toEqual([]);
  expect(check(bad)).toEqual([{ pointer: '/data', detail: expect.stringContaining('pattern') }]);
});

it.each<[unknown[], boolean]>([
  [[], true],
  [[1, '1', true, 'true', null, 'null', [], {}, [1], { a: 1 }, [[1]]], true],
  [
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
    false,
  ],
  [[0, -0], false],
  [[[{ a: 1, b: 2 }], [{ b: 2, a: 1 }]], false],
  [
    [
      { a: 1, b: 2 },
      { a: 2, b: 1 },
    ],
    true,
  ],
  [
    [
      [1, 2],
      [2, 1],
    ],
    true,
  ],
])('tells whether the items of %j differ: %p', (items, areUnique) => {
  const check = compileDataSchema({ type: 'array', uniqueItems: true });
  expect(check(items)).toHaveLength(areUnique ? 0 : 1);
  expect(compileDataSchema({ type: 'array', uniqueItems: false })(items)).toEqual([]);
});
