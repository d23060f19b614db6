import { disableEndpoint } from '../endpoints/change-status';
import type { DisabledReason, Endpoint } from '../endpoints/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import { type BreakerState, CLOSED } from './breaker';
import type { WaitingHere, WakeQueue } from './hold';
import type { InFlightWindows } from './in-flight-windows';
import type { OpenGate } from './open-gate';
import type { GateStore } from './redis-gate-store';

export interface SettleDeps {
  readonly gateStore: Pick<GateStore, 'recordFailure' | 'closeBreaker'>;
  readonly endpointStore: Pick<EndpointStore, 'update'>;
  readonly windows: Pick<InFlightWindows, 'freePlaces'>;
  readonly wakeQueue: WakeQueue;
  readonly waitingHere: WaitingHere;
  readonly openGate: OpenGate;
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface SettleInput {
  readonly endpoint: Endpoint;
  /** As it was when the attempt was admitted. */
  readonly breaker: BreakerState;
  readonly delivered: boolean;
  /** Whether the receiver wants nothing any more, and how it said so. */
  readonly disabledBy: Exclude<DisabledReason, 'client'> | undefined;
  /** Whether the delivery had waited at the gate: then others may be waiting behind it. */
  readonly wasReleased: boolean;
}

/** What an attempt's outcome means for its endpoint's gate. For a success at a healthy endpoint: nothing to write. */
export function createSettle(deps: SettleDeps) {
  const { gateStore, endpointStore, windows, wakeQueue, waitingHere, openGate, clock, emit } = deps;

  return async function settle(input: SettleInput): Promise<void> {
    const { endpoint, delivered, disabledBy, wasReleased } = input;
    if (disabledBy) await disable(endpoint, disabledBy);
    if (delivered) await recover(input);
    else await fail(input);
    if (wasReleased) waitingHere.add(endpoint.id);
    if (waitingHere.has(endpoint.id)) {
      await openGate(endpoint.accountId, endpoint.id, windows.freePlaces(endpoint.id));
    }
  };

  async function recover({ endpoint, breaker }: SettleInput): Promise<void> {
    if (breaker.failures === CLOSED.failures) return;
    await gateStore.closeBreaker(endpoint.id);
    if (breaker.openUntil === CLOSED.openUntil) return;
    emit({ name: 'breaker.closed', endpointId: endpoint.id });
    await wakeQueue.wake(endpoint.accountId, endpoint.id, clock());
  }

  async function fail({ endpoint, breaker }: SettleInput): Promise<void> {
    const recorded = await gateStore.recordFailure(endpoint.id, breaker, clock());
    if (!recorded.hasOpened) return;
    const { failures, openUntil } = recorded;
    emit({ name: 'breaker.opened', endpointId: endpoint.id, failures, openForMs: openUntil - clock() });
    await wakeQueue.wake(endpoint.accountId, endpoint.id, openUntil);
  }

  async function disable({ accountId, id }: Endpoint, reason: DisabledReason): Promise<void> {
    await endpointStore.update(accountId, id, (current) => disableEndpoint(current, reason, clock()));
    emit({ name: 'endpoint.disabled', endpointId: id, reason });
  }
}

export type Settle = ReturnType<typeof createSettle>;
