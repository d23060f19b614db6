import { catalogue } from '../../accounts/event-types/built-in';
import { EventTypes, type EventTypesParts } from '../../accounts/event-types/event-types';
import type { EventTypeStore } from '../../accounts/event-types/redis-event-type-store';
import { fake } from '../../testing/fake';
import { findFilterWarnings, warningsFor } from './filter-warnings';

const order = {
  type: 'object',
  properties: {
    total: { type: 'number' },
    count: { type: 'integer' },
    currency: { enum: ['EUR', 'USD'] },
    tags: { type: 'array', items: { type: 'string' } },
    note: { type: ['string', 'null'] },
    customer: { $ref: '#/$defs/customer' },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    either: {
      anyOf: [{ type: 'string' }, { type: 'object', properties: { id: {} }, additionalProperties: false }],
    },
    anything: true,
  },
  $defs: {
    customer: { type: 'object', properties: { tier: { const: 'gold' } }, additionalProperties: false },
  },
};
const strict = { name: 'order.created', schema: { ...order, additionalProperties: false } };
const lax = { name: 'order.paid', schema: order };

const codesOf = (filter: object, ...types: Parameters<typeof warningsFor>[1]) =>
  warningsFor(JSON.stringify(filter), types).map(({ code, pointer }) => `${code} ${pointer}`);

describe('a warning of a filter', () => {
  it.each<[object, readonly string[]]>([
    [{ total: { gte: 100 } }, []],
    [{ total: 'x' }, ['never_matches /filter/total']],
    [{ total: { gt: '100 euros' } }, ['never_matches /filter/total']],
    [{ total: { in: ['a', 5] } }, []],
    [{ count: 1.5 }, ['never_matches /filter/count']],
    [{ count: { lt: 1.5 } }, []],
    [{ currency: 'EUR' }, []],
    [{ currency: { starts_with: 'U' } }, []],
    [{ currency: 'GBP' }, ['never_matches /filter/currency']],
    [{ tags: { contains: 'new' } }, []],
    [{ tags: 'new' }, ['never_matches /filter/tags']],
    [{ 'tags.0': 'new' }, []],
    [{ 'tags.first': 'new' }, ['never_matches /filter/tags.first']],
    [{ note: null }, []],
    [{ note: 1 }, ['never_matches /filter/note']],
    [{ 'customer.tier': 'gold' }, []],
    [{ 'customer.tier': 'silver' }, ['never_matches /filter/customer.tier']],
    [{ 'customer.name': 'Ada' }, ['never_matches /filter/customer.name']],
    [{ 'labels.any': 'x' }, []],
    [{ 'labels.any': 1 }, ['never_matches /filter/labels.any']],
    [{ either: 'x' }, []],
    [{ 'either.id': 1 }, []],
    [{ 'either.name': 1 }, ['never_matches /filter/either.name']],
    [{ 'anything.at.all': 1 }, []],
    [{ totl: { exists: true } }, ['never_matches /filter/totl']],
    // These hold where there is nothing.
    [{ totl: { exists: false }, other: { ne: 1 }, more: { not_in: [1] } }, []],
    [{ $not: { totl: 1 } }, []],
    [{ $any: [{ totl: 1 }, { total: 1 }] }, []],
    [{ $any: [{ totl: 1 }, { sum: 1 }] }, ['never_matches /filter/$any']],
    [{ $all: [{ total: 1 }, { totl: 1 }] }, ['never_matches /filter']],
  ])('%j: %j, where the schema forbids other members', (filter, warnings) => {
    expect(codesOf(filter, strict)).toEqual(warnings);
  });

  it('is no more than likely where the schema allows other members', () => {
    expect(codesOf({ totl: 1 }, lax)).toEqual(['unlikely_to_match /filter/totl']);
    expect(codesOf({ total: 'x' }, lax)).toEqual(['never_matches /filter/total']);
  });

  it.each<[string, unknown]>([
    ['anything', true],
    ['any object', { type: 'object' }],
    [
      'members by a pattern',
      { properties: { a: {} }, patternProperties: { '^t': {} }, additionalProperties: false },
    ],
    ['a condition', { properties: { a: {} }, if: {}, then: { properties: { total: {} } } }],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema' }],
    ['a reference round and round', { $ref: '#' }],
    ['one that doubles', { anyOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['one of two', { allOf: [{ properties: { a: {} } }, { properties: { total: {} } }] }],
    [
      'another schema within',
      { $defs: { a: false }, properties: { total: { $id: 'b', $ref: '#/$defs/a' } } },
    ],
  ])('does not come for a schema that does not say: %s', (_what, schema) => {
    expect(codesOf({ total: 1 }, { name: 'a.b', schema: schema as boolean })).toEqual([]);
  });

  it('comes for several types only if it is true of each', () => {
    const other = { name: 'order.lost', schema: { properties: { reason: {} }, additionalProperties: false } };
    expect(codesOf({ total: 1 }, strict, other)).toEqual([]);
    expect(codesOf({ reason: 'x' }, strict, other)).toEqual([]);
    expect(codesOf({ nothing: 1 }, strict, other)).toEqual(['never_matches /filter/nothing']);
    expect(codesOf({ nothing: 1 }, strict, lax)).toEqual(['unlikely_to_match /filter/nothing']);
    // Each has one of them.
    expect(codesOf({ total: 1, reason: 'x' }, strict, other)).toEqual(['never_matches /filter']);
  });

  it.each<[object, RegExp]>([
    [
      { totl: 1 },
      /^"totl" is not in the schema of order\.created; did you mean "total"\? At present no event can pass/,
    ],
    [{ 'data.total': 1 }, /; paths begin within "data": write "total"\. At/],
    [
      { total: 'x' },
      /^"total" is of the type number in order\.created, which "eq": "x" does not fit\. At present no event/,
    ],
    [{ currency: 'GBP' }, /^"currency" has no value in order\.created for which "eq": "GBP" holds\. /],
  ])('says of %j what is wrong, and what is right', (filter, detail) => {
    expect(warningsFor(JSON.stringify(filter), [strict])[0]?.detail).toMatch(detail);
  });
});

describe('the warnings of an endpoint', () => {
  const eventTypes = new EventTypes(
    fake<EventTypesParts>({
      eventTypeStore: fake<EventTypeStore>({ publishable: catalogue.slice(0, 3), list: async () => [] }),
    }),
  );

  it('are by the types that it gets', async () => {
    const filter = JSON.stringify({ position: { lte: 10 } });
    expect(await findFilterWarnings(eventTypes, { events: ['keyword.*'], filter })).toEqual([]);
    expect(await findFilterWarnings(eventTypes, { events: ['*'], filter })).toEqual([]);
    expect(await findFilterWarnings(eventTypes, { events: ['brief.created'], filter })).toMatchObject([
      { code: 'never_matches', pointer: '/filter/position' },
    ]);
    expect(await findFilterWarnings(eventTypes, { events: ['brief.created'] })).toEqual([]);
  });
});
