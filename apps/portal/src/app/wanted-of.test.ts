import { placeOfId, wantedOf } from './wanted-of';

const WEBHOOK = 'wh_0n5x3gq9k2v7r1m8c4d6ta';

it.each([
  [`evt_1.${WEBHOOK}`, `/deliveries/evt_1.${WEBHOOK}`],
  [`order-4711.${WEBHOOK}`, `/deliveries/order-4711.${WEBHOOK}`],
  [WEBHOOK, `/webhooks/${WEBHOOK}`],
  ['rpl_0n5x3gq9k2v7r1m8c4d6ta', '/replays/rpl_0n5x3gq9k2v7r1m8c4d6ta'],
  ['evt_0n5x3gq9k2v7r1m8c4d6ta', '/events/evt_0n5x3gq9k2v7r1m8c4d6ta'],
  ['order-4711', undefined],
  ['//example.com', undefined],
  ['', undefined],
])('placeOfId: %j is at %s', (id, place) => {
  expect(placeOfId(id)).toBe(place);
});

it.each([
  ['order.id=4711', '{"order":{"id":4711}}'],
  ['order.id = "4711"', '{"order":{"id":"4711"}}'],
  ['customer.name=Ada Lovelace', '{"customer":{"name":"Ada Lovelace"}}'],
  ['paid=true', '{"paid":true}'],
  ['id=12345678901234567890', '{"id":12345678901234567890}'],
  ['tags=["a"]', '{"tags":["a"]}'],
  [' {"order":{"id":4711}} ', '{"order":{"id":4711}}'],
])('looks for data that contain %s', (text, json) => {
  expect(wantedOf(text)).toEqual({ kind: 'data', json });
});

it.each(['order-4711', 'crm', 'invoice.paid', 'https://example.com/hooks?tenant=1', 'a b'])(
  'looks for what is called %s',
  (text) => {
    expect(wantedOf(` ${text} `)).toEqual({ kind: 'name', text });
  },
);

it('looks for nothing where nothing was typed', () => {
  expect(wantedOf('  ')).toBeUndefined();
});
