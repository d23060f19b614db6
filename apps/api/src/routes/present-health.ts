import type { Health } from '@webhooks/core/endpoints/read-health';
import { formatTime } from '@webhooks/core/runtime/clock';

// As many as tell one failure in ten thousand.
const RATE_DIGITS = 4;

/** How an endpoint is doing, as clients see it. */
export function presentHealth(health: Health) {
  return {
    attempts_24h: health.attempts,
    success_rate: health.successRate === undefined ? null : Number(health.successRate.toFixed(RATE_DIGITS)),
    last_success_at: timeOrNull(health.lastSuccessAt),
    last_failure_at: timeOrNull(health.lastFailureAt),
    breaker: health.breaker,
    held: health.held,
  };
}

function timeOrNull(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : formatTime(epochMs);
}
