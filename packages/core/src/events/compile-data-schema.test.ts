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
