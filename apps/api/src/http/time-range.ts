import { z } from 'zod';

/** A time as clients send it. Gives milliseconds since the Unix epoch. */
export const sentTimeSchema = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-11-21T12:00:00Z' })
  .transform((text) => Date.parse(text));

/** The query parameters by which lists are limited to a time: from `since` on, and before `until`. */
export const timeRangeQuery = { since: sentTimeSchema.optional(), until: sentTimeSchema.optional() };
