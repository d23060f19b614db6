import type { Retention } from '../events/redis-event-index';

/** Age and number that no test reaches, unless it is about them. */
export const testRetention: Retention = { ageMs: 10_000 * 86_400_000, count: 10_000 };
