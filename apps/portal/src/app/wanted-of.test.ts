import { dataSearchesOf, wantedOf } from './wanted-of';

const REST = '0n5x3gq9k2v7r1m8c4d6ta';

it.each([
  ['delivery', `evt_1.wh_${REST}`],
  ['delivery', `order-4711.wh_${REST}`],
  ['webhook', `wh_${REST}`],
  ['event', `evt_${REST}`],
  ['replay', `rpl_${REST}`],
  ['contact', `ct_${REST}`],
  ['message', `ntf_${REST}`],
  ['auditEntry', `aud_${REST}`],
])('knows the id of a %s', (of, id) => {
  expect(wantedOf(`${id} `)).toEqual({ kind: 'id', of, id });
});

it.each([
  ['order.id=4711', '{"order":{"id":4711}}'],
  [' {"order":{"id":4711}} ', '{"order":{"id":4711}}'],
])('looks for data that contain %s', (text, search) => {
  expect(wantedOf(text)).toEqual({ kind: 'data', search });
});

it.each([
  ['4711', ['4711']],
  ['order 4711', ['"order 4711"', '4711']],
  ['order #4711', ['"order #4711"', '4711']],
  ['Ada <ada@example.com>', ['"Ada <ada@example.com>"', '"ada@example.com"']],
  ['crm', ['"crm"']],
  ['order.id=4711', []],
  [' ', []],
])('can also look for %s as a value in data', (text, searches) => {
  expect(dataSearchesOf(text).map(({ search }) => search)).toEqual(searches);
});

it.each([
  'order-4711',
  'crm',
  'invoice.paid',
  'https://example.com/hooks?tenant=1',
  'a b',
  '//example.com',
  'q0n5x3gq9k2v7r1m',
  `events-dead-letters.${REST}`,
])('looks for what is called %s', (text) => {
  expect(wantedOf(` ${text} `)).toEqual({ kind: 'name', text });
});

it('looks for nothing where nothing was typed', () => {
  expect(wantedOf('  ')).toBeUndefined();
});
