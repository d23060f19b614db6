import { z } from 'zod';

/** A time as clients send it. Gives milliseconds since the Unix epoch. */
export const sentTimeSchema = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-11-21T12:00:00Z' })
  .transform((text) => Date.parse(text));

/** The query parameters by which lists are limited to a time: from `since` on, and before `until`. */
export const timeRangeQuery = { since: sentTimeSchema.optional(), until: sentTimeSchema.optional() };

interface SentRange {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** For `refine` of a query with a time range: one that ends before it begins is a mistake, and no empty list. */
export const isInOrder: [(range: SentRange) => boolean, { path: string[]; message: string }] = [
  ({ since, until }) => since === undefined || until === undefined || since <= until,
  { path: ['until'], message: 'must not be before "since"' },
];
