// For an error of ours that got here unforeseen, such as a reply that Redis should not give.
const UNFORESEEN_DELAY_MS = 5_000;

/** How a failed attempt tells BullMQ's backoff when to run the job again. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  // BullMQ stores the stack with the job. This is no fault, and a pending delivery is to be small.
  override readonly stack = '';

  constructor(
    readonly delayMs: number,
    reason: string,
  ) {
    super(reason);
  }

  /** Milliseconds, at least 1: for BullMQ, 0 means the end of the queue, at once. */
  static delayOf(error: Error | undefined): number {
    return Math.max(error instanceof RetryLater ? error.delayMs : UNFORESEEN_DELAY_MS, 1);
  }
}
