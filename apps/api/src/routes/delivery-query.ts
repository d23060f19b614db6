import { type RecordFilter, shownStatuses, statusClasses } from '@hookferry/core/history/delivery-filter';
import { attemptOutcomeSchema } from '@hookferry/core/model/attempt';
import { z } from 'zod';
import { wholeNumberSchema } from '../http/page';

/** The query parameters by which lists of deliveries are limited to how those stand. */
export const standingQuery = {
  status: z.enum(shownStatuses).optional(),
  /** Of the last attempt's answer. */
  status_class: z.enum(statusClasses).optional(),
  response_status: wholeNumberSchema(100, 599)
    .describe('Only those whose last attempt was answered with this status.')
    .optional(),
  outcome: attemptOutcomeSchema.describe('Only those whose last attempt ended so.').optional(),
};

type StandingQuery = z.infer<z.ZodObject<typeof standingQuery>>;

export function standingFilterOf(query: StandingQuery): RecordFilter {
  const { status, status_class: statusClass, response_status: responseStatus, outcome } = query;
  return { status, statusClass, responseStatus, outcome };
}
