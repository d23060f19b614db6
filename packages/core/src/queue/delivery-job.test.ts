import { deliveryIdOf } from '../deliveries/delivery-id';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { deliveryJobId, deliveryJobSchema, parseDeliveryJobId } from './delivery-job';

const parts = { eventId: uniqueEventId(), endpointId: uniqueEndpointId() };

describe('deliveryJobId', () => {
  it("is the delivery's own id at first", () => {
    expect(deliveryJobId(parts, 'first')).toBe(deliveryIdOf(parts));
  });

  it.each(['first', 'second'] as const)('reads back, on the %s side', (side) => {
    expect(parseDeliveryJobId(deliveryJobId(parts, side))).toEqual({ ...parts, side });
  });

  it('differs between the sides, and fits a job id: no colon', () => {
    const ids = [deliveryJobId(parts, 'first'), deliveryJobId(parts, 'second')];
    expect(new Set(ids).size).toBe(2);
    expect(ids.join('')).not.toContain(':');
  });
});

describe('parseDeliveryJobId', () => {
  it.each(['', '~', 'evt_1', 'evt_1~', `~${deliveryIdOf(parts)}`, `${deliveryIdOf(parts)}~~`])(
    'takes %j for no job id',
    (text) => {
      expect(parseDeliveryJobId(text)).toBeUndefined();
    },
  );
});

describe('deliveryJobSchema', () => {
  it.each([{ account_id: 'default' }, { account_id: 'default', released: true }])('takes %j', (data) => {
    expect(deliveryJobSchema.parse(data)).toEqual(data);
  });

  it.each([null, {}, { account_id: 'a:b' }, { account_id: 'default', released: false }])(
    'refuses %j',
    (data) => {
      expect(deliveryJobSchema.safeParse(data).success).toBe(false);
    },
  );
});
