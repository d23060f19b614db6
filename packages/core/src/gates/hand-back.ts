import type { Endpoint } from '../endpoints/endpoint';
import type { Clock } from '../runtime/clock';
import type { Ticket } from './admit';
import type { BreakerState } from './breaker';
import type { WakeQueue } from './hold';
import type { BreakerStore } from './redis-breaker-store';
import { PERMIT_WINDOW_MS, type PermitStore } from './redis-permit-store';

export interface HandBackDeps {
  readonly permitStore: Pick<PermitStore, 'giveBack'>;
  readonly breakerStore: Pick<BreakerStore, 'giveProbeBack'>;
  readonly wakeQueue: WakeQueue;
  readonly clock: Clock;
}

export interface HandBackInput {
  readonly endpoint: Endpoint;
  readonly ticket: Ticket;
  /** As it was when the attempt was admitted. */
  readonly breaker: BreakerState;
  /** Whether the attempt was broken off, and says nothing of the receiver. */
  readonly wasInterrupted: boolean;
}

/** Hands back what an attempt was admitted with. For an endpoint without a rate limit: nothing to do. */
export function createHandBack({ permitStore, breakerStore, wakeQueue, clock }: HandBackDeps) {
  return async function handBack({
    endpoint,
    ticket,
    breaker,
    wasInterrupted,
  }: HandBackInput): Promise<void> {
    if (ticket.permit !== undefined) await handPermitBack(endpoint, ticket.permit);
    if (ticket.isProbe && wasInterrupted) await breakerStore.giveProbeBack(endpoint.id, breaker, clock());
  };

  async function handPermitBack({ accountId, id }: Endpoint, permit: string): Promise<void> {
    const isWaitedFor = await permitStore.giveBack(id, permit);
    if (isWaitedFor) await wakeQueue.wake(accountId, id, clock() + PERMIT_WINDOW_MS + 1);
  }
}

export type HandBack = ReturnType<typeof createHandBack>;
