import { z } from 'zod';
import { FILTER_BOUNDS, parsePayloadFilter } from './parse-payload-filter';

const scalar = { type: ['string', 'number', 'boolean', 'null'] };
const ordered = { type: ['number', 'string'] };
const listed = { type: 'array', items: scalar, minItems: 1, maxItems: 100 };
const text = { type: 'string' };

const operatorsForm = {
  type: 'object',
  description: 'Operators, all of which must hold.',
  properties: {
    eq: { ...scalar, description: 'Is this.' },
    ne: { ...scalar, description: 'Is not this; also if there is nothing.' },
    lt: { ...ordered, description: 'Is less.' },
    lte: { ...ordered, description: 'Is less, or this.' },
    gt: { ...ordered, description: 'Is more.' },
    gte: { ...ordered, description: 'Is more, or this.' },
    in: { ...listed, description: 'Is one of these.' },
    not_in: { ...listed, description: 'Is none of these; also if there is nothing.' },
    exists: { type: 'boolean', description: 'Whether there is something, be it null.' },
    starts_with: { ...text, description: 'Is a text that begins with this.' },
    ends_with: { ...text, description: 'Is a text that ends with this.' },
    contains: { ...scalar, description: 'Is a list with this item, or a text with this in it.' },
  },
  additionalProperties: false,
  minProperties: 1,
};

const itself = { $ref: '#/$defs/PayloadFilter' };

const DESCRIPTION = [
  'Which events it gets, by their `data`. Each member is a path such as `customer.tier`, with a value that must be there or',
  'with operators; or `$any` or `$all` with a list of filters, or `$not` with a filter. All must hold. At most',
  `${FILTER_BOUNDS.conditions} conditions, ${FILTER_BOUNDS.levels} levels and ${FILTER_BOUNDS.bytes} bytes.`,
].join(' ');

/** A filter on the data of events, as it was sent. */
export const payloadFilterSchema = z
  .unknown()
  .superRefine((value, context) => {
    if (value === undefined) return context.addIssue({ code: 'custom', message: 'is required' });
    for (const { path, detail } of parsePayloadFilter(value).faults ?? []) {
      context.addIssue({ code: 'custom', path: [...path], message: detail });
    }
  })
  .meta({
    id: 'PayloadFilter',
    type: 'object',
    description: DESCRIPTION,
    additionalProperties: { anyOf: [scalar, operatorsForm, itself, { type: 'array', items: itself }] },
    minProperties: 1,
    example: { 'customer.tier': 'gold', position: { lte: 10 } },
  });
