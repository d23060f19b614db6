/** How long stores keep the id of a handled event: 14 days, the service's default `RETENTION`. */
export const DEFAULT_REMEMBERED_MS = 1_209_600_000;

/**
 * Stores the ids of handled events. An id is claimed, and then committed or released. A claim that is neither ends with its
 * lease.
 */
export interface DedupeStore {
  /**
   * Atomic: of concurrent claims, one gets `claimed`.
   *
   * @param leaseMs how long the claim holds if it is neither committed nor released, in milliseconds
   * @returns `claimed`: handle the event now; `busy`: another one handles it; `done`: it was handled.
   */
  claim(id: string, leaseMs: number): Promise<'claimed' | 'busy' | 'done'>;
  /** The event was handled. */
  commit(id: string): Promise<void>;
  /** The event was not handled, and may be claimed again. A committed id stays committed. */
  release(id: string): Promise<void>;
}
