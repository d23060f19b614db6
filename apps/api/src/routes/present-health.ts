import { formatTimeOrNull, timeSchema } from '@hookferry/core/kernel/clock';
import type { Health } from '@hookferry/core/manage/read-health';
import { breakerPhases } from '@hookferry/core/model/breaker';
import { z } from 'zod';

export const healthSchema = z
  .object({
    attempts_24h: z.int(),
    success_rate: z.number().min(0).max(1).nullable(),
    last_success_at: timeSchema.nullable(),
    last_failure_at: timeSchema.nullable(),
    breaker: z.enum(breakerPhases),
    held: z.int(),
  })
  .meta({ id: 'Health' });

// As many as tell one failure in ten thousand.
const RATE_DIGITS = 4;

/** How an endpoint is doing, as clients see it. */
export function presentHealth(health: Health): z.infer<typeof healthSchema> {
  return {
    attempts_24h: health.attempts,
    success_rate: health.successRate === undefined ? null : Number(health.successRate.toFixed(RATE_DIGITS)),
    last_success_at: formatTimeOrNull(health.lastSuccessAt),
    last_failure_at: formatTimeOrNull(health.lastFailureAt),
    breaker: health.breaker,
    held: health.held,
  };
}
