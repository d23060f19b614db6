import { decodeRequest, deliveryJobSchema, encodeRequest } from './delivery-job';

const request = { requestId: 'rdl_1', trigger: 'manual', requestedAt: 1_700_000_000_000 } as const;

describe('a request in a job', () => {
  it('reads back as it was', () => {
    const data = deliveryJobSchema.parse({ account_id: 'default', request: encodeRequest(request) });
    expect(decodeRequest(data)).toEqual(request);
  });

  it('is absent where nobody has asked for it', () => {
    expect(decodeRequest(deliveryJobSchema.parse({ account_id: 'default' }))).toBeUndefined();
  });
});

describe('deliveryJobSchema', () => {
  it.each([{ account_id: 'default' }, { account_id: 'default', request: encodeRequest(request) }])(
    'takes %j',
    (data) => {
      expect(deliveryJobSchema.parse(data)).toEqual(data);
    },
  );

  it.each([
    null,
    {},
    { account_id: 'a:b' },
    { account_id: 'default', request: { ...encodeRequest(request), trigger: 'schedule' } },
    { account_id: 'default', request: {} },
  ])('refuses %j', (data) => {
    expect(deliveryJobSchema.safeParse(data).success).toBe(false);
  });
});
