import { faultOfSearched } from './searched-data';

it.each([
  '',
  '{}',
  '{"order":{"id":4711}}',
  ' {"a":[1.0]} ',
  `{"a":"${'é'.repeat(508)}"}`,
  `${'{"a":'.repeat(7)}{}${'}'.repeat(7)}`,
])('lets %s be searched for', (text) => {
  expect(faultOfSearched(text)).toBeUndefined();
});

it.each([
  ['not JSON', '{order:4711}'],
  ['not JSON', ' '],
  ['not a JSON object', '4711'],
  ['not a JSON object', '[{"order":1}]'],
  ['not a JSON object', 'null'],
  ['too long', `{"a":"${'é'.repeat(509)}"}`],
  ['nested too deeply', `${'{"a":'.repeat(8)}{}${'}'.repeat(8)}`],
])('says that it is %s: %s', (fault, text) => {
  expect(faultOfSearched(text)).toContain(fault);
});
