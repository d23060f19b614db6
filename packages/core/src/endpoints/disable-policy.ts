/** When an endpoint that only fails is given up. */
export interface DisablePolicy {
  /** After this long without a success. Milliseconds. */
  readonly afterMs: number;
  /**
   * And only if its failures since then are at least this far apart, milliseconds: after weeks without an event, one
   * bad hour proves nothing.
   */
  readonly failureSpanMs: number;
}

/** What is known when another attempt has failed. Times are milliseconds since the Unix epoch. */
export interface FailureHistory {
  /** When the first attempt since the last success failed. */
  readonly failingSince: number;
  readonly lastSuccessAt: number | undefined;
  /** When it was created, or enabled for the last time. */
  readonly enabledAt: number;
  readonly now: number;
}

/** Whether its failures are far enough apart: known without a look at the last success, and hardly ever so. */
export function isSpanOver(
  { failureSpanMs }: DisablePolicy,
  { failingSince, now }: Pick<FailureHistory, 'failingSince' | 'now'>,
): boolean {
  return now - failingSince >= failureSpanMs;
}

/** Whether an endpoint whose attempt has just failed is to be disabled. */
export function hasFailedForTooLong(policy: DisablePolicy, history: FailureHistory): boolean {
  const { failingSince, lastSuccessAt = 0, enabledAt, now } = history;
  // A success that overlapped with the first failures may have left them on record: they count from its time on.
  const failingSinceThen = Math.max(failingSince, lastSuccessAt, enabledAt);
  return (
    isSpanOver(policy, { failingSince: failingSinceThen, now }) &&
    now - Math.max(lastSuccessAt, enabledAt) >= policy.afterMs
  );
}
