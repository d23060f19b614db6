import type { AdmissionStore } from '../admission/redis-admission-store';
import type { Clock } from '../kernel/clock';
import { phaseOf } from '../model/breaker';
import type { Endpoint } from '../model/endpoint';
import type { EventId } from '../model/event';
import type { HoldReason } from '../model/hold-reason';

/** Why a delivery is held as things stand, and until when at most if time alone ends it: milliseconds since the Unix epoch. */
export interface HoldExplanation {
  readonly reason: HoldReason;
  readonly until: number | undefined;
}

export interface ExplainHoldDeps {
  readonly admissionStore: Pick<AdmissionStore, 'stand'>;
  readonly clock: Clock;
}

/** What holds an endpoint's deliveries, by the event of each. */
export type HoldOf = (eventId: EventId) => HoldExplanation;

/**
 * It may be held for something else than what it was held for first, so it is not kept but asked for: once for as many
 * deliveries of an endpoint as are shown together.
 */
export function createExplainHold({ admissionStore, clock }: ExplainHoldDeps) {
  return async function explainHold(endpoint: Endpoint): Promise<HoldOf> {
    if (endpoint.status === 'disabled') return () => ({ reason: 'disabled', until: undefined });
    const { breaker, rate, next } = await admissionStore.stand(endpoint.id, endpoint.rateLimit);
    const now = clock();
    switch (phaseOf(breaker, now)) {
      case 'open':
        return () => ({ reason: 'breaker_open', until: breaker.openUntil });
      case 'half_open':
        return () => ({ reason: 'breaker_open', until: undefined });
      case 'closed':
    }
    const first = endpoint.ordering === 'strict' ? next?.eventId : undefined;
    return (eventId) => {
      if (first !== undefined && first !== eventId) return { reason: 'out_of_turn', until: undefined };
      if (rate.free < 1) return { reason: 'rate_limited', until: now + rate.nextInMs };
      return { reason: 'busy', until: undefined };
    };
  };
}

export type ExplainHold = ReturnType<typeof createExplainHold>;
