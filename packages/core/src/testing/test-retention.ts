import type { Retention } from '../events/redis-event-index';

/** So long and so much that no test meets its end, unless it is about that. */
export const testRetention: Retention = { ageMs: 1_000 * 86_400_000, count: 10_000 };
