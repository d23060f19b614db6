import { type BreakerPhase, phaseOf } from '../gates/breaker';
import type { BreakerStore } from '../gates/redis-breaker-store';
import type { ParkedStore } from '../gates/redis-parked-store';
import type { Clock } from '../runtime/clock';
import { type AttemptTally, type RecentAttempts, recentAttempts } from './attempt-tally';
import type { EndpointId } from './endpoint';
import type { HealthStore } from './redis-health-store';

/** How an endpoint is doing. */
export interface Health extends RecentAttempts, Pick<AttemptTally, 'lastSuccessAt' | 'lastFailureAt'> {
  readonly breaker: BreakerPhase;
  /** Deliveries that wait at its gate. */
  readonly held: number;
}

export interface ReadHealthDeps {
  readonly healthStore: Pick<HealthStore, 'read'>;
  readonly breakerStore: Pick<BreakerStore, 'readBreaker'>;
  readonly parkedStore: Pick<ParkedStore, 'countParked'>;
  readonly clock: Clock;
}

export function createReadHealth({ healthStore, breakerStore, parkedStore, clock }: ReadHealthDeps) {
  return async function readHealth(endpointId: EndpointId): Promise<Health> {
    const [tally, breaker, held] = await Promise.all([
      healthStore.read(endpointId),
      breakerStore.readBreaker(endpointId),
      parkedStore.countParked(endpointId),
    ]);
    const now = clock();
    return {
      ...recentAttempts(tally, now),
      lastSuccessAt: tally.lastSuccessAt,
      lastFailureAt: tally.lastFailureAt,
      breaker: phaseOf(breaker, now),
      held,
    };
  };
}

export type ReadHealth = ReturnType<typeof createReadHealth>;
