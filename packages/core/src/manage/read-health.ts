import type { AdmissionStore } from '../admission/redis-admission-store';
import { type AttemptTally, type RecentAttempts, recentAttempts } from '../endpoints/attempt-tally';
import type { HealthStore } from '../endpoints/redis-health-store';
import type { Clock } from '../kernel/clock';
import { type BreakerPhase, phaseOf } from '../model/breaker';
import type { EndpointId } from '../model/endpoint';

/** How an endpoint is doing. */
export interface Health extends RecentAttempts, Pick<AttemptTally, 'lastSuccessAt' | 'lastFailureAt'> {
  readonly breaker: BreakerPhase;
  /** Deliveries that are held. */
  readonly held: number;
}

export interface ReadHealthDeps {
  readonly healthStore: Pick<HealthStore, 'read'>;
  readonly admissionStore: Pick<AdmissionStore, 'readBreaker'>;
  readonly heldDeliveries: { count(endpointId: EndpointId): Promise<number> };
  readonly clock: Clock;
}

export function createReadHealth({ healthStore, admissionStore, heldDeliveries, clock }: ReadHealthDeps) {
  /** All that it asks for goes out at once: of many endpoints together it is one round trip. */
  return async function readHealth(endpointId: EndpointId): Promise<Health> {
    const [tally, breaker, held] = await Promise.all([
      healthStore.read(endpointId),
      admissionStore.readBreaker(endpointId),
      heldDeliveries.count(endpointId),
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
