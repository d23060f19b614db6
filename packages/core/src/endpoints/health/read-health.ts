import { type BreakerPhase, phaseOf } from '../../domain/breaker';
import type { Endpoint, EndpointId } from '../../domain/endpoint';
import type { Clock } from '../../platform/clock';
import type { AdmissionStore } from '../flow/redis-admission-store';
import { type AttemptTally, type RecentAttempts, recentAttempts } from './attempt-tally';
import type { HealthStore } from './redis-health-store';

/**
 * What limits an endpoint's running attempts: its own setting (`max_concurrency`), or the number that it has
 * shown to bear (`adaptive`).
 */
export const concurrencyReasons = ['max_concurrency', 'adaptive'] as const;

/** How many attempts an endpoint may have running at the moment. */
export interface ConcurrencyStanding {
  /** Over all workers that have tried it recently. */
  readonly limit: number;
  /** The number of these workers. */
  readonly workers: number;
  readonly reason: (typeof concurrencyReasons)[number];
}

/** The health of an endpoint. */
export interface Health extends RecentAttempts, Pick<AttemptTally, 'lastSuccessAt' | 'lastFailureAt'> {
  readonly breaker: BreakerPhase;
  /** Deliveries that are held. */
  readonly held: number;
  /** `undefined`: no worker has tried it recently. */
  readonly concurrency: ConcurrencyStanding | undefined;
}

export interface ReadHealthContext {
  readonly healthStore: Pick<HealthStore, 'read'>;
  readonly admissionStore: Pick<AdmissionStore, 'readBreaker'>;
  readonly heldDeliveries: { count(endpointId: EndpointId): Promise<number> };
  readonly clock: Clock;
}

/** All commands are sent at once: for many endpoints together it is one round trip. */
export async function readHealth(
  { healthStore, admissionStore, heldDeliveries, clock }: ReadHealthContext,
  { id, maxConcurrency }: Pick<Endpoint, 'id' | 'maxConcurrency'>,
): Promise<Health> {
  const now = clock();
  const [record, breaker, held] = await Promise.all([
    healthStore.read(id, now),
    admissionStore.readBreaker(id),
    heldDeliveries.count(id),
  ]);
  return {
    ...recentAttempts(record, now),
    lastSuccessAt: record.lastSuccessAt,
    lastFailureAt: record.lastFailureAt,
    breaker: phaseOf(breaker, now),
    held,
    concurrency: standingOf(record.limits, maxConcurrency),
  };
}

// A worker reports its limit after an attempt: the endpoint's own bound may have changed since.
function standingOf(
  limits: readonly number[],
  most = Number.POSITIVE_INFINITY,
): ConcurrencyStanding | undefined {
  if (limits.length === 0) return undefined;
  return {
    limit: limits.reduce((sum, limit) => sum + Math.min(limit, most), 0),
    workers: limits.length,
    reason: limits.every((limit) => limit >= most) ? 'max_concurrency' : 'adaptive',
  };
}
