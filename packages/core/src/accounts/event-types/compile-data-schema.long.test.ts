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
  [{}, 'is required, and must be a string'],
  [{ id: 'inv_1', colour: 'red' }, 'is not a known name'],
  [{ id: 'inv_1', dues: '2026-11-21' }, 'is not a known name; did you mean "due"?'],
  [{ id: 1 }, 'must be a string'],
  [{ id: '' }, 'must have at least 1 character'],
  [{ id: 'inv_1', due: 'soon' }, 'must have the format date'],
])('says of the member that it points to what is wrong with it: %j', (data, detail) => {
  expect(compileDataSchema(invoice)(data)).toMatchObject([{ detail }]);
});

it.each([
  ['enum', { enum: ['EUR', 'USD', 7] }, 'must be one of "EUR", "USD", 7'],
  ['a long enum', { enum: Array.from({ length: 30 }, (_, i) => i) }, /^must be one of 0, 1, .*, 19, …$/],
  ['const', { const: { a: 1 } }, 'must be {"a":1}'],
  ['a long const', { const: 'x'.repeat(1_000) }, /^must be "x{99}…$/],
])('names the values that the schema allows: %s', (_what, schema, detail) => {
  const faults = compileDataSchema(schema)('other');
  expect(faults).toMatchObject([{ pointer: '/data' }]);
  expect(faults[0]?.detail).toMatch(detail);
});

it('names all errors, each once', () => {
  const check = compileDataSchema({
    ...invoice,
    required: ['id', 'total'],
    properties: {
      ...invoice.properties,
      total: { type: 'number', minimum: 1 },
      of: { items: { type: 'integer' } },
    },
    anyOf: [{ required: ['total'] }, { properties: { total: { minimum: 1 } } }],
  });
  expect(check({ id: 1, due: 'soon', of: [1, 'x', 1.5], colour: 'red' })).toEqual([
    { pointer: '/data/total', detail: 'is required, and must be a number' },
    { pointer: '/data/colour', detail: 'is not a known name' },
    { pointer: '/data/id', detail: 'must be a string' },
    { pointer: '/data/due', detail: 'must have the format date' },
    { pointer: '/data/of/1', detail: 'must be a whole number' },
    { pointer: '/data/of/2', detail: 'must be a whole number' },
  ]);
});

it('names a hundred errors at most, and the first alone where all would take too much work', () => {
  const check = compileDataSchema({ items: { type: 'number' } });
  const wrong = (count: number) => Array.from({ length: count }, () => 'x');
  expect(check(wrong(150))).toHaveLength(100);
  expect(check(wrong(100_000))).toEqual([{ pointer: '/data/0', detail: 'must be a number' }]);
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

// What takes years by a regular expression of JavaScript's own, or by comparing each with each, must end some
// time.
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

// Within the limits of an event, which are 256 KiB and a depth of 100.
const nested = (levels: number, inner: unknown = {}): unknown =>
  levels === 0 ? inner : { a: nested(levels - 1, inner) };
const numbers = Array.from({ length: 100_000 }, (_, i) => i);

it.each<[string, object, unknown]>([
  [
    'branches that double with each level',
    {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          oneOf: [
            { properties: { a: { $ref: '#/$defs/node' } } },
            { properties: { a: { $ref: '#/$defs/node' } } },
          ],
        },
      },
    },
    nested(90),
  ],
  [
    'references that double without going deeper',
    {
      $ref: '#/$defs/d0',
      $defs: Object.fromEntries(
        Array.from({ length: 60 }, (_, i) => [
          `d${i}`,
          i === 59 ? {} : { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
        ]),
      ),
    },
    {},
  ],
  [
    'many looks at each item',
    { allOf: Array.from({ length: 50 }, () => ({ items: { type: 'number' } })) },
    numbers,
  ],
  [
    'long lists to compare each item with',
    { items: { enum: Array.from({ length: 4_000 }, (_, i) => -i - 1) } },
    numbers,
  ],
  ['many patterns for a long text', { allOf: Array(50).fill({ pattern: '^[a-z]+$' }) }, 'a'.repeat(200_000)],
  ['a large pattern for a long text', { pattern: '(?:a?){500}[xy]' }, 'a'.repeat(200_000)],
  ['many lengths of a long text', { allOf: Array(120).fill({ minLength: 1 }) }, 'a'.repeat(200_000)],
  [
    'lists within lists that must differ',
    { $ref: '#/$defs/l', $defs: { l: { uniqueItems: true, items: { $ref: '#/$defs/l' } } } },
    Array(98)
      .fill(0)
      .reduce((inner) => [inner], numbers.slice(0, 30_000)),
  ],
])('refuses data that would be looked at without end: %s', (_what, schema, data) => {
  const check = compileDataSchema({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema });
  const found = runInNewContext('check(data)', { check, data }, { timeout: PATIENCE_MS });
  expect(found).toEqual([{ pointer: '/data', detail: expect.stringContaining('too much work') }]);
});

it('checks each event by itself, however many there were before', () => {
  const check = compileDataSchema({ items: { type: 'number' } });
  for (let i = 0; i < 12; i += 1) expect(check(numbers)).toEqual([]);
});

it.each<[string, object, unknown]>([
  [
    'a tree of ten thousand nodes',
    {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: {
            name: { type: 'string', pattern: '^n', maxLength: 20 },
            of: { items: { $ref: '#/$defs/node' } },
          },
          required: ['name'],
          additionalProperties: false,
        },
      },
    },
    {
      name: 'n',
      of: Array.from({ length: 100 }, () => ({ name: 'n', of: Array(100).fill({ name: 'n', of: [] }) })),
    },
  ],
  ['a long text with a pattern', { pattern: '^[a-z]+$' }, 'a'.repeat(150_000)],
  [
    'a hundred thousand numbers that differ',
    { items: { type: 'integer' }, uniqueItems: true },
    numbers.slice(0, 30_000),
  ],
])('checks what people write, in full: %s', (_what, schema, data) => {
  expect(compileDataSchema(schema)(data)).toEqual([]);
});

it('takes a URL for one without going over a long text again and again', () => {
  const check = compileDataSchema({ type: 'string', format: 'url' });
  expect(check('https://example.com/a?b=c#d')).toEqual([]);
  for (const wrong of ['example.com', '/a', 'mailto:a@example.com', 'https://', 'http://a b.example.com/']) {
    expect(check(wrong)).toMatchObject([{ pointer: '/data' }]);
  }
  const long = `http://${'a@:'.repeat(80_000)}`;
  const found = runInNewContext('check(data)', { check, data: long }, { timeout: PATIENCE_MS });
  expect(found).toHaveLength(1);
});
