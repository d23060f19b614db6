import {
  type AttemptFilter,
  type AttemptOutcome,
  attemptOutcomeSchema,
  attemptOutcomes,
} from '@hookferry/core/domain/attempt';
import { type RecordFilter, shownStatuses, statusClasses } from '@hookferry/core/history/delivery-standings';
import { sentTimeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { wholeNumberSchema } from '../http/page';

/** Stands for all outcomes but `delivered`. */
const FAILED = 'failed';
const WAYS = [...attemptOutcomes, FAILED].join('|');
const WAYS_PATTERN = new RegExp(`^(${WAYS})(,(${WAYS}))*$`);

function readWays(text: string): readonly AttemptOutcome[] {
  const ways = text.split(',');
  return attemptOutcomes.filter(
    (outcome) => ways.includes(outcome) || (outcome !== 'delivered' && ways.includes(FAILED)),
  );
}

/** The query parameters that filter deliveries by any of their attempts. */
const attemptQuery = {
  attempted_since: sentTimeSchema
    .optional()
    .describe('Only deliveries with an attempt that began at this time or later. Default: no lower limit.'),
  attempted_until: sentTimeSchema
    .optional()
    .describe('Only deliveries with an attempt that began before this time. Default: no upper limit.'),
  attempt_outcome: z
    .string()
    .regex(WAYS_PATTERN, 'must be outcomes of attempts, or "failed", separated by commas')
    .transform(readWays)
    .optional()
    .meta({
      description:
        'Only deliveries with an attempt that ended in one of these ways: outcomes, separated by commas. `failed`: all of them but `delivered`. With `attempted_since` and `attempted_until` it is the same attempt, and not only the last one: the counts of `/v1/metrics/deliveries` count by the same. Default: all.',
      example: 'http_5xx,response_timeout',
    }),
};

/** The query parameters that filter deliveries by their standing. */
export const standingQuery = {
  status: z.enum(shownStatuses).optional().describe('Only deliveries with this status. Default: all.'),
  status_class: z
    .enum(statusClasses)
    .optional()
    .describe(
      'Only deliveries whose last response had a status of this class. `none`: those that got no response. Default: all.',
    ),
  response_status: wholeNumberSchema(100, 599)
    .describe('Only deliveries whose last response had this HTTP status: 100 to 599. Default: all.')
    .optional(),
  outcome: attemptOutcomeSchema
    .describe('Only deliveries whose last attempt ended in this way. Default: all.')
    .optional(),
  ...attemptQuery,
};

type StandingQuery = z.infer<z.ZodObject<typeof standingQuery>>;

export function standingFilterOf(query: StandingQuery): RecordFilter {
  const { status, status_class: statusClass, response_status: responseStatus, outcome } = query;
  return { status, statusClass, responseStatus, outcome, attempts: attemptFilterOf(query) };
}

function attemptFilterOf({
  attempted_since: since,
  attempted_until: until,
  attempt_outcome: outcomes,
}: StandingQuery): AttemptFilter | undefined {
  const isAny = since === undefined && until === undefined && outcomes === undefined;
  return isAny ? undefined : { since, until, outcomes };
}

export const isAttemptedInOrder: [
  (query: StandingQuery) => boolean,
  { readonly path: string[]; readonly message: string },
] = [
  ({ attempted_since: since, attempted_until: until }) =>
    since === undefined || until === undefined || since <= until,
  { path: ['attempted_until'], message: 'must not be before "attempted_since"' },
];
