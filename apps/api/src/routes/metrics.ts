import { attemptOutcomes } from '@hookferry/core/domain/attempt';
import { type MetricsPoint, MOST_POINTS, readMetrics } from '@hookferry/core/history/read-metrics';
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
      .enum(rollupGrains)
      .default(DEFAULT_INTERVAL)
      .describe('How long each time is. Without a history in PostgreSQL, `1h` alone.'),
    group_by: z
      .enum(rollupDimensions)
      .optional()
      .describe('A point for each of these, instead of one for all.'),
  })
  .refine(...isInOrder);

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
    interval: z.enum(rollupGrains),
    since: timeSchema.describe(
      'What is counted begins here: by default 24 hours before `until`, with the interval `1d` 30 days. Without a history, of very many deliveries only those of events that were accepted from here on.',
    ),
    until: timeSchema.describe('What is counted ends here.'),
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
    const metrics = await readMetrics(context, apiKey.accountId, { interval, groupBy, since, until });
    const body: z.infer<typeof metricsSchema> = {
      data: metrics.points.map((point) => presentPoint(point, groupBy)),
      interval,
      since: formatTime(metrics.since),
      until: formatTime(metrics.until),
    };
    return { status: 200, body };
  },
});

function presentPoint(
  { start, value, p50, p95, p99, lagP95, ...counts }: MetricsPoint,
  groupBy: RollupDimension | undefined,
): z.infer<typeof pointSchema> {
  return {
    start: formatTime(start),
    group: groupBy === undefined ? {} : { [groupBy]: value },
    ...counts,
    p50_ms: rounded(p50),
    p95_ms: rounded(p95),
    p99_ms: rounded(p99),
    lag_p95_ms: rounded(lagP95),
  };
}

// More of them would promise too much, and fewer would be less than right within 2.2 %.
const DIGITS = 5;

function rounded(ms: number | undefined): number | null {
  return ms === undefined ? null : Number(ms.toPrecision(DIGITS));
}
