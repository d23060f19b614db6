import { DEFAULT_REMEMBERED_MS, type DedupeStore } from './dedupe-store';

export interface MemoryStoreOptions {
  /** The most handled events that are stored. Beyond it the oldest is removed. Default 10,000. */
  readonly max?: number;
  /** For how long, in milliseconds. Default 14 days, which is how long the service keeps events. */
  readonly ttlMs?: number;
}

/** Stores ids in the memory of this process. They are lost when it ends, and other processes do not see them. */
export function memoryStore({
  max = 10_000,
  ttlMs = DEFAULT_REMEMBERED_MS,
}: MemoryStoreOptions = {}): DedupeStore {
  const leases = new Map<string, number>();
  const handled = new Map<string, number>();
  return {
    async claim(id, leaseMs) {
      const now = Date.now();
      forgetEnded(handled, now);
      forgetEnded(leases, now);
      if (handled.has(id)) return 'done';
      if ((leases.get(id) ?? 0) > now) return 'busy';
      leases.set(id, now + leaseMs);
      return 'claimed';
    },
    async commit(id) {
      leases.delete(id);
      handled.delete(id);
      handled.set(id, Date.now() + ttlMs);
      for (const oldest of handled.keys()) {
        if (handled.size <= max) break;
        handled.delete(oldest);
      }
    },
    async release(id) {
      leases.delete(id);
    },
  };
}

/** A map is in the order of its entries, so the ones that end first come first. */
function forgetEnded(ends: Map<string, number>, now: number): void {
  for (const [id, end] of ends) {
    if (end > now) break;
    ends.delete(id);
  }
}
