import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/kernel/clock';
import { concurrencyReasons, type Health } from '@hookferry/core/manage/read-health';
import { breakerPhases } from '@hookferry/core/model/breaker';
import { z } from 'zod';

const p95Schema = z.number().min(0).nullable();

const healthHourSchema = z
  .object({ at: timeSchema, successes: z.int(), failures: z.int(), p95_ms: p95Schema })
  .meta({ id: 'HealthHour' });

const concurrencySchema = z
  .object({
    limit: z.int().min(0).describe('How many it may be, all these workers together.'),
    workers: z
      .int()
      .min(1)
      .describe('How many workers have ended an attempt at it within about the last minute.'),
    reason: z
      .enum(concurrencyReasons)
      .describe(
        '`max_concurrency`: as many as it lets itself have; `adaptive`: as many as it has shown to bear.',
      ),
  })
  .meta({ id: 'HealthConcurrency' });

export const healthSchema = z
  .object({
    attempts_24h: z.int(),
    success_rate: z.number().min(0).max(1).nullable(),
    p95_ms: p95Schema,
    last_success_at: timeSchema.nullable(),
    last_failure_at: timeSchema.nullable(),
    breaker: z.enum(breakerPhases),
    held: z.int(),
    concurrency: concurrencySchema
      .nullable()
      .describe(
        'How many attempts may be under way at it at once, as of now; null: no worker has tried it lately.',
      ),
    hours: z.array(healthHourSchema),
  })
  .meta({ id: 'Health' });

// As many as tell one failure in ten thousand.
const RATE_DIGITS = 4;
// It is known to within an eighth.
const DURATION_DIGITS = 2;

/** How an endpoint is doing, as clients see it. */
export function presentHealth(health: Health): z.infer<typeof healthSchema> {
  return {
    attempts_24h: health.attempts,
    success_rate: health.successRate === undefined ? null : Number(health.successRate.toFixed(RATE_DIGITS)),
    p95_ms: presentP95(health.p95Ms),
    last_success_at: formatTimeOrNull(health.lastSuccessAt),
    last_failure_at: formatTimeOrNull(health.lastFailureAt),
    breaker: health.breaker,
    held: health.held,
    concurrency: health.concurrency ?? null,
    hours: health.hours.map(({ at, successes, failures, p95Ms }) => ({
      at: formatTime(at),
      successes,
      failures,
      p95_ms: presentP95(p95Ms),
    })),
  };
}

function presentP95(p95Ms: number | undefined): number | null {
  return p95Ms === undefined ? null : Number(p95Ms.toPrecision(DURATION_DIGITS));
}
