import { shapeOf } from './schema-shape';
import type { TypeToWrite } from './type-names';
import { writeGo } from './write-go';
import { writePython } from './write-python';
import { writeTypeScript } from './write-typescript';

const ADDRESS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

describe('the shape of a schema', () => {
  it.each<[string, Parameters<typeof shapeOf>[0], object]>([
    ['that allows anything', true, { kind: 'unknown' }],
    ['of a scalar', { type: 'integer', minimum: 1 }, { kind: 'integer' }],
    ['of a constant', { const: 'EUR' }, { kind: 'literals', values: ['EUR'] }],
    ['of some values', { enum: ['a', 1, null] }, { kind: 'literals', values: ['a', 1, null] }],
    [
      'of several types',
      { type: ['string', 'null'] },
      { kind: 'union', shapes: [{ kind: 'string' }, { kind: 'null' }] },
    ],
    ['of a list', { type: 'array', items: { type: 'number' } }, { kind: 'list', item: { kind: 'number' } }],
    ['of a tuple', { type: 'array', prefixItems: [true] }, { kind: 'list', item: { kind: 'unknown' } }],
    [
      'of a map',
      { type: 'object', additionalProperties: { type: 'boolean' } },
      { kind: 'map', value: { kind: 'boolean' } },
    ],
    ['of a choice with something unknown', { anyOf: [{ type: 'string' }, {}] }, { kind: 'unknown' }],
    ['that only denies', { not: { type: 'string' } }, { kind: 'unknown' }],
    ['that refers to nothing', { $ref: '#/$defs/none' }, { kind: 'unknown' }],
  ])('%s', (_what, schema, shape) => expect(shapeOf(schema)).toEqual(shape));

  it('follows references, and ends at those that lead back', () => {
    const schema = {
      type: 'object',
      properties: { to: { $ref: '#/$defs/address' }, next: { $ref: '#/$defs/node' } },
      $defs: { address: ADDRESS, node: { type: 'array', items: { $ref: '#/$defs/node' } } },
    };
    expect(shapeOf(schema)).toEqual({
      kind: 'object',
      members: [
        { name: 'to', isRequired: false, shape: shapeOf(ADDRESS) },
        { name: 'next', isRequired: false, shape: { kind: 'list', item: { kind: 'unknown' } } },
      ],
    });
  });

  it('has the members of all parts', () => {
    const schema = { allOf: [ADDRESS, { properties: { zip: { type: 'string' } }, required: ['zip'] }] };
    expect(shapeOf(schema)).toMatchObject({ members: [{ name: 'city' }, { name: 'zip', isRequired: true }] });
  });
});

const ORDER: TypeToWrite = {
  name: 'order.created',
  description: 'An order\nwas placed. */',
  deprecated: false,
  shape: shapeOf({
    type: 'object',
    required: ['id', 'items'],
    properties: {
      id: { type: 'string', description: 'As the shop shows it.' },
      total: { type: 'number' },
      coupon: { type: ['string', 'null'] },
      items: {
        type: 'array',
        items: { type: 'object', required: ['sku'], properties: { sku: { type: 'string' } } },
      },
    },
  }),
};

it('is written as TypeScript', () => {
  expect(writeTypeScript([ORDER])).toContain(`export interface Events {
  /** An order was placed. * / */
  "order.created": {
    /** As the shop shows it. */
    "id": string;
    "total"?: number;
    "coupon"?: string | null;
    "items": Array<{
      "sku": string;
    }>;
  };
}
`);
});

it('is written as Python', () => {
  const text = writePython([ORDER]);
  expect(text).toContain('class OrderCreatedItemsItem(TypedDict):\n');
  expect(text).toContain(
    'class OrderCreatedRequired(TypedDict):\n    id: str\n    items: List[OrderCreatedItemsItem]\n',
  );
  expect(text).toContain('    total: float\n    coupon: Optional[str]\n');
  expect(text).toContain('EventType = Literal["order.created"]\n');
});

it('is written as Go', () => {
  const text = writeGo([ORDER], 'events');
  expect(text).toContain('\tTypeOrderCreated = "order.created"\n');
  expect(text).toContain(`type OrderCreated struct {
\tID     string                  \`json:"id"\`
\tTotal  *float64                \`json:"total,omitempty"\`
\tCoupon *string                 \`json:"coupon,omitempty"\`
\tItems  []OrderCreatedItemsItem \`json:"items"\`
}
`);
});
