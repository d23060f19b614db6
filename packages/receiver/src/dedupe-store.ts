/** How long stores remember a handled event: 14 days, as long as the service keeps events unless it is told otherwise. */
export const DEFAULT_REMEMBERED_MS = 1_209_600_000;

/**
 * Remembers which events were handled, by their ids. An id goes from claimed to committed, or back by release;
 * a claim that is neither is free again when its lease ends.
 */
export interface DedupeStore {
  /**
   * Atomic: of any number of claims at the same time one is `claimed`.
   *
   * @param leaseMs how long the claim holds if it is neither committed nor released, in milliseconds
   * @returns `claimed`: handle it; `busy`: somebody does; `done`: it was handled.
   */
  claim(id: string, leaseMs: number): Promise<'claimed' | 'busy' | 'done'>;
  /** It was handled. */
  commit(id: string): Promise<void>;
  /** It was not, and may be claimed again. Does nothing to one that is committed. */
  release(id: string): Promise<void>;
}
