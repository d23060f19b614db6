/**
 * A circuit breaker per endpoint, shared by all workers. It opens after a run of failures, lets one delivery
 * through as a probe when its time has come, and closes with the first success.
 *
 * ```
 *   closed ──failures in a row──▶ open ──time──▶ half-open ──probe failed──▶ open, for longer
 *      ▲                                             │
 *      └───────────────── success ───────────────────┘
 * ```
 */
export interface BreakerState {
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** Until when nothing is let through. Milliseconds since the Unix epoch; 0: it never opened. */
  readonly openUntil: number;
}

export const breakerPhases = ['closed', 'open', 'half_open'] as const;
export type BreakerPhase = (typeof breakerPhases)[number];

export const CLOSED: BreakerState = { failures: 0, openUntil: 0 };

/**
 * This many failures in a row open it: as many attempts as the default schedule gives one delivery, so that a delivery
 * that fails alone is tried as scheduled.
 */
export const FAILURES_TO_OPEN = 10;
/** It is open this long at first, and twice as long after each failed probe. */
export const FIRST_OPEN_MS = 1_000;
/** An endpoint that is well again after a long outage gets its first delivery no later than this. */
export const MAX_OPEN_MS = 60_000;
/** A probe that is not heard of again, because its worker died, makes room for the next one after this. */
export const PROBE_MS = 60_000;

export function phaseOf({ openUntil }: BreakerState, now: number): BreakerPhase {
  if (openUntil === 0) return 'closed';
  return openUntil > now ? 'open' : 'half_open';
}
