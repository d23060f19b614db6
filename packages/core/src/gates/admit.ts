import type { Endpoint } from '../endpoints/endpoint';
import type { EventId } from '../events/event';
import type { Clock } from '../runtime/clock';
import { type BreakerState, PROBE_MS, phaseOf } from './breaker';
import { SAFETY_WAKE_MS } from './hold';
import type { InFlightWindows } from './in-flight-windows';
import type { Lane, LaneEntry, Lanes } from './lanes';
import type { BreakerStore } from './redis-breaker-store';
import type { PermitStore } from './redis-permit-store';
import type { TurnStore } from './redis-turn-store';

/** Why a delivery has to wait. */
export const waitReasons = ['disabled', 'breaker_open', 'busy', 'rate_limited', 'out_of_turn'] as const;
export type WaitReason = (typeof waitReasons)[number];

/** What an attempt was admitted with, to be handed back when it has ended. */
export interface Ticket {
  /** One of those that an endpoint with a rate limit has. */
  readonly permit: string | undefined;
  /** Whether it is the one attempt that a half-open breaker lets through. */
  readonly isProbe: boolean;
}

export type Admission = Admitted | Move | Wait;

export type Admitted = Extract<LaneEntry, { kind: 'admitted' }> & { readonly ticket: Ticket };
type Move = Extract<LaneEntry, { kind: 'move' }>;

export interface Wait {
  readonly kind: 'wait';
  readonly reason: WaitReason;
  /** When to look again, in milliseconds since the Unix epoch. None: the gate knows, once it is parked. */
  readonly wakeAt: number | undefined;
}

export interface AdmitDeps {
  readonly breakerStore: Pick<BreakerStore, 'claimProbe'>;
  readonly permitStore: Pick<PermitStore, 'take' | 'giveBack'>;
  readonly turnStore: Pick<TurnStore, 'isTurnOf'>;
  readonly windows: Pick<InFlightWindows, 'enter' | 'enterAtOnce' | 'leave'>;
  readonly lanes: Pick<Lanes, 'isSlow' | 'enter' | 'leave'>;
  /** How long an attempt may take at an endpoint that says nothing else. Milliseconds. */
  readonly attemptTimeoutMs: number;
  readonly clock: Clock;
}

export interface AdmitInput {
  readonly endpoint: Endpoint;
  readonly breaker: BreakerState;
  readonly eventId: EventId;
  /** Whether it waited at the gate. */
  readonly wasReleased: boolean;
  readonly lane: Lane;
}

// For what is before and after the request: long enough that no permit expires within a second of its arrival.
const LEASE_MARGIN_MS = 5_000;

/**
 * Whether an attempt may start now. For an endpoint that is enabled, well, not busy and without a rate limit or strict
 * ordering this costs no more than a look into memory. Whoever was admitted has to `leave` the endpoint's window and the
 * lane, and to hand its ticket back.
 */
export function createAdmit(deps: AdmitDeps) {
  const { breakerStore, permitStore, turnStore, windows, lanes, attemptTimeoutMs, clock } = deps;

  return async function admit(input: AdmitInput): Promise<Admission> {
    const { endpoint, breaker, eventId } = input;
    if (endpoint.status === 'disabled') return wait('disabled');
    const phase = phaseOf(breaker, clock());
    if (phase === 'open') return wait('breaker_open', breaker.openUntil);
    if (endpoint.ordering === 'strict' && !(await turnStore.isTurnOf(endpoint.id, eventId))) {
      return wait('out_of_turn');
    }
    if (!(await enterWindow(endpoint, breaker))) return wait('busy', clock() + SAFETY_WAKE_MS);
    return await orLeave(enterLane(input, phase === 'half_open'), () => windows.leave(endpoint.id, 'unused'));
  };

  // A slow receiver will hardly free a place before patience is over; until then it would only cost a slot.
  async function enterWindow({ id }: Endpoint, { failures }: BreakerState): Promise<boolean> {
    const isFailing = failures > 0;
    return lanes.isSlow(id) ? windows.enterAtOnce(id, isFailing) : await windows.enter(id, isFailing);
  }

  async function enterLane(input: AdmitInput, isProbe: boolean): Promise<Admission> {
    const { endpoint, breaker, lane } = input;
    const entry = lanes.enter(lane, endpoint.id, breaker.failures > 0);
    if (entry.kind === 'move') return entry;
    const taken = await orLeave(takeTicket(input, isProbe), () => lanes.leave(entry));
    return isWait(taken) ? taken : { ...entry, ticket: taken };
  }

  async function takeTicket(input: AdmitInput, isProbe: boolean): Promise<Ticket | Wait> {
    const { id, rateLimit } = input.endpoint;
    const permit = rateLimit === undefined ? undefined : `${input.eventId} ${clock()}`;
    if (permit !== undefined && !(await takePermit(input, permit))) return wait('rate_limited');
    if (isProbe && !(await breakerStore.claimProbe(id, clock()))) {
      if (permit !== undefined) await permitStore.giveBack(id, permit);
      return wait('breaker_open', clock() + PROBE_MS);
    }
    return { permit, isProbe };
  }

  async function takePermit(
    {
      endpoint: { id, rateLimit = Number.POSITIVE_INFINITY, timeoutMs = attemptTimeoutMs },
      wasReleased,
    }: AdmitInput,
    permit: string,
  ): Promise<boolean> {
    const leaseMs = timeoutMs + LEASE_MARGIN_MS;
    return await permitStore.take(id, { permit, limit: rateLimit, leaseMs, hasWaited: wasReleased });
  }
}

export type Admit = ReturnType<typeof createAdmit>;

function wait(reason: WaitReason, wakeAt?: number): Wait {
  return { kind: 'wait', reason, wakeAt };
}

function isWait(taken: Ticket | Wait): taken is Wait {
  return 'kind' in taken;
}

/** Leaves what was entered before, unless it is made use of in the end: also when Redis could not be asked. */
async function orLeave<Taken extends Ticket | Admission>(
  taking: Promise<Taken>,
  leave: () => void,
): Promise<Taken> {
  let isUsed = false;
  try {
    const taken = await taking;
    isUsed = !('kind' in taken) || taken.kind === 'admitted';
    return taken;
  } finally {
    if (!isUsed) leave();
  }
}
