import { attemptOutcomes } from '@hookferry/core/domain/attempt';
import { endpointIdSchema } from '@hookferry/core/domain/endpoint';
import {
  type MetricsPoint,
  MOST_POINTS,
  metricsIntervals,
  type OnlyOne,
  readMetrics,
} from '@hookferry/core/history/read-metrics';
import { type RollupDimension, rollupDimensions, rollupGrains } from '@hookferry/core/history/rollups';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { isInOrder, timeRangeQuery } from '../http/page';
import { defineRoute } from '../http/route';

const DEFAULT_INTERVAL = '1h';

const querySchema = z
  .strictObject({
    ...timeRangeQuery,
    interval: z
      .enum(metricsIntervals)
      .default(DEFAULT_INTERVAL)
      .describe(
        'How long each time is; `total`: all of it is one. Without a history in PostgreSQL, not `1d`.',
      ),
    group_by: z
      .enum(rollupDimensions)
      .optional()
      .describe('A point for each of these, instead of one for all.'),
    webhook_id: endpointIdSchema.optional().describe('Of this webhook alone.'),
    event_type: z.string().min(1).optional().describe('Of events of this type alone.'),
  })
  .refine(...isInOrder)
  .refine(isKept, {
    path: ['group_by'],
    message: 'must be the same as what is asked for alone: counts are not kept for both at once',
  });

/** What is added up is one webhook's, one type's or one outcome's. */
function isKept({ group_by: groupBy, webhook_id, event_type }: Selection): boolean {
  const only = Object.entries({ webhook_id, event_type }).filter(([, value]) => value !== undefined);
  return only.length === 0 || (only.length === 1 && (groupBy ?? only[0]?.[0]) === only[0]?.[0]);
}

interface Selection {
  readonly group_by?: RollupDimension | undefined;
  readonly webhook_id?: string | undefined;
  readonly event_type?: string | undefined;
}

function onlyOf({ webhook_id, event_type }: Selection): OnlyOne | undefined {
  if (webhook_id !== undefined) return { dimension: 'webhook_id', value: webhook_id };
  return event_type === undefined ? undefined : { dimension: 'event_type', value: event_type };
}

const count = z.int().min(0);
const milliseconds = z.number().min(0).nullable();

const pointSchema = z
  .object({
    start: timeSchema.describe('When its time begins: a multiple of the interval, in UTC.'),
    group: z
      .object({
        webhook_id: z.string().optional(),
        event_type: z.string().optional(),
        outcome: z.enum(attemptOutcomes).optional(),
      })
      .meta({ id: 'MetricsGroup' })
      .describe('What it is about: the member that `group_by` names. Empty without it.'),
    attempts: count.describe('Attempts that began in its time: `delivered` and `failed` together.'),
    delivered: count.describe('Attempts that a receiver has accepted.'),
    failed: count.describe('All others.'),
    retried: count.describe('Attempts after the first one of their delivery.'),
    exhausted: count.describe('Deliveries whose last attempt failed in its time.'),
    p50_ms: milliseconds.describe('Half of the attempts took less. Right within 2.2 %, as those below.'),
    p95_ms: milliseconds.describe('95 % of the attempts took less.'),
    p99_ms: milliseconds.describe('99 % of the attempts took less.'),
    lag_p50_ms: milliseconds.describe('As `lag_p95_ms`, of half of it.'),
    lag_p95_ms: milliseconds.describe(
      '95 % of what was delivered took less from its acceptance to its delivery; null if nothing was.',
    ),
  })
  .meta({ id: 'DeliveryMetricsPoint' });

const metricsSchema = z
  .object({
    data: z
      .array(pointSchema)
      .describe(
        `By their start, then by group; those without attempts are left out. At most ${MOST_POINTS}.`,
      ),
    interval: z.enum(metricsIntervals),
    since: timeSchema.describe(
      'What is counted begins here: by default 24 hours before `until`, with the interval `1d` 30 days. Without a history, of very many deliveries only those of events that were accepted from here on.',
    ),
    until: timeSchema.describe('What is counted ends here.'),
    source: z
      .enum(['recent', 'history'])
      .describe('`history`: this service has a history in PostgreSQL. `recent`: it keeps the last 24 hours.'),
  })
  .meta({ id: 'DeliveryMetrics' });

export const readDeliveryMetrics = defineRoute({
  operationId: 'readDeliveryMetrics',
  summary: 'Count attempts over time',
  method: 'get',
  path: '/v1/metrics/deliveries',
  scope: 'deliveries:read',
  request: { query: querySchema },
  problems: ['history_unavailable'],
  responses: {
    200: { description: 'The attempts of each interval.', schema: metricsSchema },
  },
  async handle({ apiKey, query }, context) {
    const { interval, group_by: groupBy, since, until } = query;
    const only = onlyOf(query);
    const metrics = await readMetrics(context, apiKey.accountId, { interval, groupBy, only, since, until });
    const body: z.infer<typeof metricsSchema> = {
      data: metrics.points.map((point) => presentPoint(point, groupBy)),
      interval,
      since: formatTime(metrics.since),
      until: formatTime(metrics.until),
      source: context.movedAttempts ? 'history' : 'recent',
    };
    return { status: 200, body };
  },
});

function presentPoint(
  { start, value, p50, p95, p99, lagP50, lagP95, ...counts }: MetricsPoint,
  groupBy: RollupDimension | undefined,
): z.infer<typeof pointSchema> {
  return {
    start: formatTime(start),
    group: groupBy === undefined ? {} : { [groupBy]: value },
    ...counts,
    p50_ms: rounded(p50),
    p95_ms: rounded(p95),
    p99_ms: rounded(p99),
    lag_p50_ms: rounded(lagP50),
    lag_p95_ms: rounded(lagP95),
  };
}

// More of them would promise too much, and fewer would be less than right within 2.2 %.
const DIGITS = 5;

function rounded(ms: number | undefined): number | null {
  return ms === undefined ? null : Number(ms.toPrecision(DIGITS));
}

const eventsQuerySchema = z
  .strictObject({
    ...timeRangeQuery,
    interval: z.enum(rollupGrains).default(DEFAULT_INTERVAL).describe('How long each time is.'),
  })
  .refine(...isInOrder);

const eventsPointSchema = z
  .object({
    start: timeSchema.describe('When its time begins: a multiple of the interval, in UTC.'),
    events: count.describe('Events that were accepted in its time.'),
  })
  .meta({ id: 'EventMetricsPoint' });

const eventMetricsSchema = z
  .object({
    data: z.array(eventsPointSchema).describe('By their start; those without events are left out.'),
    interval: z.enum(rollupGrains),
    since: timeSchema.describe('What is counted begins here: by default 24 hours before `until`.'),
    until: timeSchema.describe('What is counted ends here.'),
  })
  .meta({ id: 'EventMetrics' });

export const readEventMetrics = defineRoute({
  operationId: 'readEventMetrics',
  summary: 'Count events over time',
  method: 'get',
  path: '/v1/metrics/events',
  scope: 'deliveries:read',
  request: { query: eventsQuerySchema },
  problems: ['history_unavailable'],
  responses: {
    200: {
      description:
        'The events that were accepted in each interval; without a history, those that are still kept.',
      schema: eventMetricsSchema,
    },
  },
  async handle({ apiKey, query }, { eventCounter }) {
    const counts = await eventCounter.count(apiKey.accountId, query);
    const body: z.infer<typeof eventMetricsSchema> = {
      data: counts.points.map(({ start, events }) => ({ start: formatTime(start), events })),
      interval: query.interval,
      since: formatTime(counts.since),
      until: formatTime(counts.until),
    };
    return { status: 200, body };
  },
});
