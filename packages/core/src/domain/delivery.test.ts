import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { decodeHolds, deliveryIdOf, encodeHold, holdReasons, parseDeliveryId } from './delivery';

const ENDPOINT = `wh_${'0'.repeat(22)}`;

describe('deliveryIdOf', () => {
  it('gives an id that parseDeliveryId takes apart again', () => {
    const parts = { eventId: uniqueEventId(), endpointId: uniqueEndpointId() };
    expect(parseDeliveryId(deliveryIdOf(parts))).toEqual(parts);
  });

  it('fits a job id: no colon, and never a bare number', () => {
    const id = deliveryIdOf({ eventId: uniqueEventId(), endpointId: uniqueEndpointId() });
    expect(id).toMatch(/^[A-Za-z0-9_-]+\.wh_[0-9a-z]+$/);
  });
});

describe('parseDeliveryId', () => {
  it("takes a producer's own event id", () => {
    expect(parseDeliveryId(`order-17_B.${ENDPOINT}`)).toEqual({
      eventId: 'order-17_B',
      endpointId: ENDPOINT,
    });
  });

  it.each([
    '',
    '.',
    'evt_1',
    `.${ENDPOINT}`,
    'evt_1.',
    ENDPOINT,
    `evt_1.evt_2.${ENDPOINT}`,
    `evt_1.${ENDPOINT}.`,
    `evt_1.${ENDPOINT}0`,
    `evt_1.${ENDPOINT.toUpperCase()}`,
    `evt_1.${ENDPOINT}\n`,
    `evt:1.${ENDPOINT}`,
    `${'e'.repeat(129)}.${ENDPOINT}`,
  ])('takes %j for no delivery id', (text) => {
    expect(parseDeliveryId(text)).toBeUndefined();
  });
});

it('writes each hold in nine characters, from which it is read again', () => {
  const holds = holdReasons.map((reason, i) => ({ reason, since: 1_700_000_000_000 + i }));
  const texts = holds.map(encodeHold);
  expect(texts.map(({ length }) => length)).toEqual(texts.map(() => 9));
  expect(decodeHolds(texts.join(''))).toEqual(holds);
});
