import { faultOfSearch, searchOf, typedOf } from './searched-data';

it.each([
  '',
  '{}',
  '{"order":{"id":4711}}',
  ' {"a":[1.0]} ',
  '4711',
  '"ada@example.com"',
  `{"a":"${'é'.repeat(508)}"}`,
  `${'{"a":'.repeat(7)}{}${'}'.repeat(7)}`,
])('lets %s be searched for', (text) => {
  expect(faultOfSearch(text)).toBeUndefined();
});

it.each([
  ['not JSON', '{order:4711}'],
  ['not JSON', ' '],
  ['not a JSON object', '[{"order":1}]'],
  ['not a JSON object', 'null'],
  ['too long', `{"a":"${'é'.repeat(509)}"}`],
  ['too long', `"${'é'.repeat(512)}"`],
  ['nested too deeply', `${'{"a":'.repeat(8)}{}${'}'.repeat(8)}`],
])('says that it is %s: %s', (fault, text) => {
  expect(faultOfSearch(text)).toContain(fault);
});

it.each([
  ['', ''],
  ['4711', '4711'],
  ['-1.50', '-1.50'],
  ['"4711"', '"4711"'],
  ['0815', '"0815"'],
  ['order 4711', '"order 4711"'],
  ['ada@example.com', '"ada@example.com"'],
  ['a "b"', '"a \\"b\\""'],
  ['true', '"true"'],
  ['https://example.com/hooks?tenant=1', '"https://example.com/hooks?tenant=1"'],
  ['order.id=4711', '{"order":{"id":4711}}'],
  ['order.id = "4711"', '{"order":{"id":"4711"}}'],
  ['customer.name=Ada Lovelace', '{"customer":{"name":"Ada Lovelace"}}'],
  ['paid=true', '{"paid":true}'],
  ['id=12345678901234567890', '{"id":12345678901234567890}'],
  ['tags=["a"]', '{"tags":["a"]}'],
  [' {"order":{"id":4711}} ', '{"order":{"id":4711}}'],
])('takes %s as a search for %s', (typed, search) => {
  expect(searchOf(typed)).toBe(search);
});

it.each(['4711', '"4711"', 'ada@example.com', '{"order":{"id":4711}}'])(
  'shows %s again as it was',
  (typed) => {
    expect(typedOf(searchOf(typed))).toBe(typed);
  },
);
