import { z } from 'zod';
import { sentDurationSchema } from '../kernel/duration';
import { textSchema } from '../kernel/text';
import { endpointUidSchema, orderings } from '../model/endpoint';
import { FILTER_FORM } from './event-filter';

const MAX_FILTERS = 100;

// Which types there are is looked up: see `requireKnownFilters`.
/** Which events an endpoint asks for. */
export const eventsSchema = z
  .array(z.string().meta(FILTER_FORM))
  .min(1, 'must name at least one event type')
  .max(MAX_FILTERS, `must name at most ${MAX_FILTERS} event types`)
  .refine((filters) => new Set(filters).size === filters.length, 'must not name an event type twice')
  .meta({ uniqueItems: true, example: ['keyword.*', 'brief.created'] });

const MAX_DELAYS = 30;
const MAX_DELAY_MS = 7 * 86_400_000;

/** What an endpoint may have or lack; `null` in a patch takes it away. Nothing of it needs Node.js: forms in a browser check with it too. */
export const optionSchemas = {
  description: textSchema(500),
  rate_limit: z.int().min(1).max(10_000),
  max_concurrency: z.int().min(1).max(1_000),
  ordering: z.enum(orderings),
  uid: endpointUidSchema,
  timeout_ms: z.int().min(1_000).max(60_000),
  retry_schedule: z
    .array(
      sentDurationSchema
        .refine((delayMs) => delayMs <= MAX_DELAY_MS, 'must be at most 7d')
        .meta({ description: 'At most `7d`.', example: '5m' }),
    )
    .min(1, 'must have at least one delay; attempts = entries + 1')
    .max(MAX_DELAYS, `must have at most ${MAX_DELAYS} delays`),
};
