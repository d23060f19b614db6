/** The attempts at an endpoint within one hour of the clock. */
export interface HourOfAttempts {
  /** Hours since the Unix epoch. */
  readonly hour: number;
  readonly successes: number;
  readonly failures: number;
}

/** What attempts at an endpoint add up to. Times are milliseconds since the Unix epoch. */
export interface AttemptTally {
  readonly hours: readonly HourOfAttempts[];
  readonly lastSuccessAt: number | undefined;
  readonly lastFailureAt: number | undefined;
}

/** An attempt that has come to its end. */
export interface EndedAttempt {
  readonly delivered: boolean;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

export interface RecentAttempts {
  readonly attempts: number;
  /** From 0 to 1; `undefined` when there were no attempts. */
  readonly successRate: number | undefined;
}

const HOUR_MS = 3_600_000;
/** Whole hours, the present one included: between 23 and 24 hours. */
export const HOURS_KEPT = 24;

export function hourOf(epochMs: number): number {
  return Math.floor(epochMs / HOUR_MS);
}

/** The oldest hour that still counts. */
export function firstHourKept(now: number): number {
  return hourOf(now) - HOURS_KEPT + 1;
}

export function tallyOf({ delivered, at }: EndedAttempt): AttemptTally {
  return delivered
    ? {
        hours: [{ hour: hourOf(at), successes: 1, failures: 0 }],
        lastSuccessAt: at,
        lastFailureAt: undefined,
      }
    : {
        hours: [{ hour: hourOf(at), successes: 0, failures: 1 }],
        lastSuccessAt: undefined,
        lastFailureAt: at,
      };
}

export function addTallies(a: AttemptTally, b: AttemptTally): AttemptTally {
  return {
    hours: addHours(a.hours, b.hours),
    lastSuccessAt: later(a.lastSuccessAt, b.lastSuccessAt),
    lastFailureAt: later(a.lastFailureAt, b.lastFailureAt),
  };
}

export function recentAttempts({ hours }: AttemptTally, now: number): RecentAttempts {
  const recent = hours.filter(({ hour }) => hour >= firstHourKept(now));
  const successes = recent.reduce((sum, each) => sum + each.successes, 0);
  const attempts = recent.reduce((sum, each) => sum + each.failures, successes);
  return { attempts, successRate: attempts === 0 ? undefined : successes / attempts };
}

function addHours(a: readonly HourOfAttempts[], b: readonly HourOfAttempts[]): HourOfAttempts[] {
  const byHour = new Map(a.map((each) => [each.hour, each]));
  for (const { hour, successes, failures } of b) {
    const known = byHour.get(hour) ?? { successes: 0, failures: 0 };
    byHour.set(hour, {
      hour,
      successes: known.successes + successes,
      failures: known.failures + failures,
    });
  }
  return [...byHour.values()];
}

function later(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}
