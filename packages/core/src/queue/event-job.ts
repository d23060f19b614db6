import { z } from 'zod';
import { endpointIdSchema, endpointRefsSchema } from '../model/endpoint';
import { accountIdSchema, eventIdSchema } from '../model/event';
import { parseTraceparent } from '../model/trace';
import { jobVersionSchema } from './job-version';

// A traceparent. What is none is passed over: no event is refused for the sake of its trace.
const traceSchema = z.string().optional().catch(undefined).transform(parseTraceparent).optional();

/** What a producer pushes onto the events queue: its `PublishedEventJob`. The job's name is the event's type. */
export const publishedEventSchema = z.strictObject({
  account_id: accountIdSchema,
  type: z.string(),
  data: z.unknown(),
  /** Unique in the account; the same id again is the same event. Left out, the job's own identity is used. */
  id: eventIdSchema.optional(),
  /** Only these endpoints get it, whichever types they asked for; each by its id or its uid. */
  webhook_ids: endpointRefsSchema.optional(),
  trace: traceSchema,
  v: jobVersionSchema,
});

/** What the API pushes: an event that was checked already, with its body sealed. The job's name is its type. */
export const acceptedEventSchema = z.strictObject({
  account_id: accountIdSchema,
  id: eventIdSchema,
  body: z.string(),
  /** Milliseconds since the Unix epoch. */
  accepted_at: z.number(),
  /** None at all: its payload was erased, so nobody gets it. */
  webhook_ids: z.array(endpointIdSchema).readonly().optional(),
  trace: traceSchema,
  v: jobVersionSchema,
});
export type AcceptedEventJob = z.input<typeof acceptedEventSchema>;
