import { attemptOutcomes } from '@hookferry/core/domain/attempt';
import { endpointIdSchema } from '@hookferry/core/domain/endpoint';
import { eventTypeNameSchema } from '@hookferry/core/domain/event';
import type { OnlyOne } from '@hookferry/core/history/metrics';
import { type MetricsPoint, MOST_POINTS, metricsIntervals } from '@hookferry/core/history/metrics-points';
import { type RollupDimension, rollupDimensions, rollupGrains } from '@hookferry/core/history/rollups';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { isInOrder, timeRangeQuery } from '../http/page';
import { defineRoute } from '../http/route';

const DEFAULT_INTERVAL = '1h';

const querySchema = z
  .strictObject({
    ...timeRangeQuery('attempts that began'),
    interval: z
      .enum(metricsIntervals)
      .default(DEFAULT_INTERVAL)
      .describe(
        'The length of each interval. `total`: one interval for the whole time. `1d` needs a history in PostgreSQL. Default: `1h`.',
      ),
    group_by: z
      .enum(rollupDimensions)
      .optional()
      .describe('Count each webhook, event type or outcome by itself. Default: one point for all.'),
    webhook_id: endpointIdSchema
      .optional()
      .describe('Count only attempts to this webhook. Default: to all webhooks.'),
    event_type: eventTypeNameSchema
      .optional()
      .describe('Count only attempts for events of this type. Default: for all types.'),
  })
  .refine(...isInOrder)
  .refine(isKept, {
    path: ['group_by'],
    message: 'must be the member that the request filters by: counts are not kept for two members at once',
  });

/** Sums are for one webhook, one type or one outcome. */
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
    starts_at: timeSchema.describe('When the interval begins: a multiple of its length, in UTC.'),
    group: z
      .object({
        webhook_id: z
          .string()
          .optional()
          .describe('The webhook of the attempts. Present with `group_by=webhook_id`.'),
        event_type: z
          .string()
          .optional()
          .describe('The event type of the attempts. Present with `group_by=event_type`.'),
        outcome: z
          .enum(attemptOutcomes)
          .optional()
          .describe('How the attempts ended. Present with `group_by=outcome`.'),
      })
      .meta({ id: 'MetricsGroup' })
      .describe('The group of the point: the one member that `group_by` names. Empty without `group_by`.'),
    attempts: count.describe('How many attempts began in the interval: `delivered` and `failed` together.'),
    delivered: count.describe('How many of the attempts were accepted.'),
    failed: count.describe('How many of the attempts failed.'),
    retried: count.describe('How many of the attempts were not the first of their delivery.'),
    exhausted: count.describe('How many deliveries ended as `exhausted` in the interval.'),
    p50_ms: milliseconds.describe(
      'The median duration of the attempts in milliseconds, to within 2.2 %. Null: there were none.',
    ),
    p95_ms: milliseconds.describe(
      'The 95th percentile of the duration of the attempts in milliseconds, to within 2.2 %. Null: there were none.',
    ),
    p99_ms: milliseconds.describe(
      'The 99th percentile of the duration of the attempts in milliseconds, to within 2.2 %. Null: there were none.',
    ),
    lag_p50_ms: milliseconds.describe(
      'The median time from the acceptance of an event to its delivery in milliseconds, to within 2.2 %. Null: nothing was delivered.',
    ),
    lag_p95_ms: milliseconds.describe(
      'The 95th percentile of the time from the acceptance of an event to its delivery in milliseconds, to within 2.2 %. Null: nothing was delivered.',
    ),
  })
  .meta({ id: 'DeliveryMetricsPoint' });

const metricsSchema = z
  .object({
    data: z
      .array(pointSchema)
      .describe(
        `The points, by start and then by group: at most ${MOST_POINTS}. Intervals without attempts are left out.`,
      ),
    interval: z.enum(metricsIntervals).describe('The length of each interval, as requested.'),
    since: timeSchema.describe(
      'Where the counted time begins. Default: 24 hours before `until`, or 30 days with the interval `1d`. Without a history in PostgreSQL, an account with very many deliveries has a later one.',
    ),
    until: timeSchema.describe('Where the counted time ends. Default: now.'),
    source: z
      .enum(['recent', 'history'])
      .describe(
        '`history`: the counts come from the history in PostgreSQL. `recent`: they come from the last 24 hours in Redis.',
      ),
  })
  .meta({ id: 'DeliveryMetrics' });

export const readDeliveryMetrics = defineRoute({
  operationId: 'readDeliveryMetrics',
  summary: 'Count attempts over time, with their durations',
  method: 'get',
  path: '/v1/metrics/deliveries',
  scope: 'deliveries:read',
  request: { query: querySchema },
  problems: ['history_unavailable'],
  responses: {
    200: {
      description: 'The number of attempts in each interval, and their durations.',
      schema: metricsSchema,
    },
  },
  async handle({ apiKey, query }, core) {
    const { interval, group_by: groupBy, since, until } = query;
    const only = onlyOf(query);
    const asked = { interval, groupBy, only, since, until };
    const counts = await core.metrics.countAttempts(apiKey.accountId, asked);
    const body: z.infer<typeof metricsSchema> = {
      data: counts.points.map((point) => presentPoint(point, groupBy)),
      interval,
      since: formatTime(counts.since),
      until: formatTime(counts.until),
      source: counts.source,
    };
    return { status: 200, body };
  },
});

function presentPoint(
  { start, value, p50, p95, p99, lagP50, lagP95, ...counts }: MetricsPoint,
  groupBy: RollupDimension | undefined,
): z.infer<typeof pointSchema> {
  return {
    starts_at: formatTime(start),
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
    ...timeRangeQuery('events that were accepted'),
    interval: z
      .enum(rollupGrains)
      .default(DEFAULT_INTERVAL)
      .describe('The length of each interval. Default: `1h`.'),
  })
  .refine(...isInOrder);

const eventsPointSchema = z
  .object({
    starts_at: timeSchema.describe('When the interval begins: a multiple of its length, in UTC.'),
    events: count.describe('How many events were accepted in the interval.'),
  })
  .meta({ id: 'EventMetricsPoint' });

const eventMetricsSchema = z
  .object({
    data: z.array(eventsPointSchema).describe('The points, by start. Intervals without events are left out.'),
    interval: z.enum(rollupGrains).describe('The length of each interval, as requested.'),
    since: timeSchema.describe('Where the counted time begins. Default: 24 hours before `until`.'),
    until: timeSchema.describe('Where the counted time ends. Default: now.'),
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
        'The number of events in each interval. Without a history in PostgreSQL, only events that are still kept are counted.',
      schema: eventMetricsSchema,
    },
  },
  async handle({ apiKey, query }, core) {
    const counts = await core.metrics.countEvents(apiKey.accountId, query);
    const body: z.infer<typeof eventMetricsSchema> = {
      data: counts.points.map(({ start, events }) => ({ starts_at: formatTime(start), events })),
      interval: query.interval,
      since: formatTime(counts.since),
      until: formatTime(counts.until),
    };
    return { status: 200, body };
  },
});
