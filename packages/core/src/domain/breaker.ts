/**
 * A circuit breaker for each endpoint, shared by all workers. It opens after a run of failures. When its time
 * is over it lets one delivery through as a probe, and it closes with the first success.
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
  /**
   * Until when nothing is let through. Milliseconds since the Unix epoch; 0: it never opened. While a probe is under way, it is
   * the time at which another one may go if this one has no result.
   */
  readonly openUntil: number;
  /** Whether a probe is under way. */
  readonly isProbing?: boolean;
}

export const breakerPhases = ['closed', 'open', 'half_open'] as const;
export type BreakerPhase = (typeof breakerPhases)[number];

export const CLOSED: BreakerState = { failures: 0, openUntil: 0 };

/**
 * This many failures in a row open it: as many attempts as the default schedule gives one delivery, so that a
 * delivery that fails alone is tried as scheduled.
 */
export const FAILURES_TO_OPEN = 10;
/**
 * It is open for a thirtieth of the time for which its endpoint has been failing. An endpoint that was away
 * for a minute waits two seconds for the first delivery, and one that is gone for good is tried once a
 * minute.
 */
export const OPEN_SHARE = 30;
export const MIN_OPEN_MS = 1_000;
export const MAX_OPEN_MS = 60_000;
/** A probe without a result, because its worker died, makes room for the next one after this time. */
export const PROBE_MS = 60_000;

// Longer than any endpoint waits for its next attempt. Without it, an attempt that was under way when its
// endpoint was deleted would write a record that nothing ever removes.
export const BREAKER_KEPT_MS = 30 * 86_400_000;

export function phaseOf({ openUntil }: BreakerState, now: number): BreakerPhase {
  if (openUntil === 0) return 'closed';
  return openUntil > now ? 'open' : 'half_open';
}

/** What clients see of a breaker. */
export interface BreakerStanding {
  readonly phase: BreakerPhase;
  /** When the next probe is due. Milliseconds since the Unix epoch. Absent: one is under way, or none has to be. */
  readonly nextTryAt: number | undefined;
}

/** A breaker whose probe is under way is half open, although nothing else is let through. */
export function standingOfBreaker(breaker: BreakerState, now: number): BreakerStanding {
  const phase = phaseOf(breaker, now);
  if (phase !== 'open') return { phase, nextTryAt: undefined };
  return breaker.isProbing
    ? { phase: 'half_open', nextTryAt: undefined }
    : { phase, nextTryAt: breaker.openUntil };
}

/**
 * The record of a breaker in Redis: failures, open-until, failing since, 1 if the account was told, and 1 while a probe is
 * under way, separated by spaces. A closed breaker without failures has no record. Older records have the first two, or four,
 * fields only. Only scripts write it: see `endpoints/admission/redis-breaker.lua`.
 */
export function decodeBreaker(stored: string | null | undefined): BreakerState {
  if (stored == null) return CLOSED;
  const [failures, openUntil, , , probing] = stored.split(' ');
  const state = { failures: Number(failures), openUntil: Number(openUntil) };
  return probing === '1' ? { ...state, isProbing: true } : state;
}

/**
 * When the first of the failures in a row happened. Milliseconds since the Unix epoch; `undefined` if not
 * recorded.
 */
export function decodeFailingSince(stored: string | null): number | undefined {
  const [, , failingSince] = stored?.split(' ') ?? [];
  return failingSince === undefined ? undefined : Number(failingSince);
}
