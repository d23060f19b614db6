import { placeOfId } from './place-of-id';

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
