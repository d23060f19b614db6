import type { Endpoint, EndpointId } from '../endpoints/endpoint';
import type { Clock } from '../runtime/clock';
import { type BreakerState, PROBE_MS, phaseOf } from './breaker';
import type { InFlightWindows } from './in-flight-windows';
import type { Lane, LaneEntry, Lanes } from './lanes';
import type { GateStore } from './redis-gate-store';

/** Why a delivery has to wait. */
export type WaitReason = 'disabled' | 'breaker_open' | 'busy';

export type Admission = LaneEntry | Wait;

interface Wait {
  readonly kind: 'wait';
  readonly reason: WaitReason;
  /** When to look again, in milliseconds since the Unix epoch. None: when somebody enables the endpoint. */
  readonly wakeAt: number | undefined;
}

export interface AdmitDeps {
  readonly gateStore: Pick<GateStore, 'claimProbe'>;
  readonly windows: Pick<InFlightWindows, 'enter' | 'leave'>;
  readonly lanes: Pick<Lanes, 'enter' | 'leave'>;
  readonly clock: Clock;
}

// Those that wait for a place follow as others come to their end; this is for when the worker that knows of them dies.
const BUSY_WAKE_MS = 10_000;

/**
 * Whether an attempt may start now. For an endpoint that is enabled, well and not busy this costs no more than a look
 * into memory. Whoever was admitted has to `leave` the endpoint's window and the lane.
 */
export function createAdmit({ gateStore, windows, lanes, clock }: AdmitDeps) {
  return async function admit(endpoint: Endpoint, breaker: BreakerState, lane: Lane): Promise<Admission> {
    if (endpoint.status === 'disabled') return { kind: 'wait', reason: 'disabled', wakeAt: undefined };
    const phase = phaseOf(breaker, clock());
    if (phase === 'open') return { kind: 'wait', reason: 'breaker_open', wakeAt: breaker.openUntil };
    const entry = lanes.enter(lane, endpoint.id, breaker.failures > 0);
    if (entry.kind === 'move') return entry;
    const wait = await takePlace(endpoint.id, breaker, phase);
    if (!wait) return entry;
    lanes.leave(entry);
    return wait;
  };

  async function takePlace(
    endpointId: EndpointId,
    breaker: BreakerState,
    phase: 'closed' | 'half_open',
  ): Promise<Wait | undefined> {
    if (!(await windows.enter(endpointId, breaker.failures > 0))) {
      return { kind: 'wait', reason: 'busy', wakeAt: clock() + BUSY_WAKE_MS };
    }
    if (phase === 'closed' || (await gateStore.claimProbe(endpointId, clock()))) return undefined;
    windows.leave(endpointId, false);
    return { kind: 'wait', reason: 'breaker_open', wakeAt: clock() + PROBE_MS };
  }
}

export type Admit = ReturnType<typeof createAdmit>;
