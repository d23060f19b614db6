import { LRUCache } from 'lru-cache';
import { type Disable, wasNotEnabledSince } from '../endpoints/disable';
import type { DisableFailing } from '../endpoints/disable-failing';
import type { DisabledReason, Endpoint, EndpointId } from '../endpoints/endpoint';
import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import { type BreakerState, CLOSED } from './breaker';
import type { WaitingHere, WakeQueue } from './hold';
import type { InFlightWindows } from './in-flight-windows';
import type { Lanes } from './lanes';
import type { OpenGate } from './open-gate';
import type { BreakerStore, RecordedFailure } from './redis-breaker-store';

export interface SettleDeps {
  readonly breakerStore: Pick<BreakerStore, 'recordFailure' | 'closeBreaker'>;
  readonly disable: Disable;
  readonly disableFailing: DisableFailing;
  readonly windows: Pick<InFlightWindows, 'freePlaces'>;
  readonly lanes: Pick<Lanes, 'isSlow'>;
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
  readonly disabledBy: Exclude<DisabledReason, 'client' | 'failing'> | undefined;
  /** Whether the account is told that the endpoint fails. */
  readonly tellsOfFailing: boolean;
  /** Whether the delivery had waited at the gate: then others may be waiting behind it. */
  readonly wasReleased: boolean;
}

/** What followed for the endpoint. */
export interface Settled {
  /** Why this attempt has disabled it, if it did. */
  readonly disabledAs: DisabledReason | undefined;
  /** When the trouble began that its account was told of and this success has ended. */
  readonly recoveredFrom: number | undefined;
}

const NOTHING_FOLLOWED: Settled = { disabledAs: undefined, recoveredFrom: undefined };

// Endpoints whose last attempt here failed; of one that is forgotten, the next success but one ends the row.
const REMEMBERED = 10_000;

// Endpoints that hang often began together, and time out together. So their next attempts are spread over some seconds
// (wakes that far ahead are): all of them at once would be felt by the others.
const SLOW_PAUSE_MS = 5_000;

/** What an attempt's outcome means for its endpoint's gate. For a success at a healthy endpoint: nothing to write. */
export function createSettle(deps: SettleDeps) {
  const { breakerStore, disable, disableFailing, windows, lanes, wakeQueue, waitingHere, openGate } = deps;
  const { clock, emit } = deps;
  // For successes that were admitted before the first failure, and so don't know that there is a row to end.
  const failedHere = new LRUCache<EndpointId, true>({ max: REMEMBERED });

  return async function settle(input: SettleInput): Promise<Settled> {
    const disabledAs = await heedReceiver(input);
    const settled = input.delivered ? await recover(input) : await fail(input);
    // There, the next one goes when the turn is passed.
    if (input.endpoint.ordering !== 'strict') await letNextThrough(input);
    return { ...settled, disabledAs: settled.disabledAs ?? disabledAs };
  };

  async function recover({ endpoint, breaker }: SettleInput): Promise<Settled> {
    const hasFailedHere = failedHere.delete(endpoint.id);
    if (breaker.failures === CLOSED.failures && !hasFailedHere) return NOTHING_FOLLOWED;
    const { wasOpen, toldFailingSince } = await breakerStore.closeBreaker(endpoint.id);
    if (wasOpen) {
      emit({ name: 'breaker.closed', endpointId: endpoint.id });
      await wakeQueue.wake(endpoint.accountId, endpoint.id, clock());
    }
    return { ...NOTHING_FOLLOWED, recoveredFrom: toldFailingSince };
  }

  async function fail({ endpoint, breaker, tellsOfFailing }: SettleInput): Promise<Settled> {
    failedHere.set(endpoint.id, true);
    const recorded = await breakerStore.recordFailure(endpoint.id, breaker, clock(), {
      telling: tellsOfFailing,
    });
    if (recorded.hasOpened) await announceOpened(endpoint, recorded);
    const isGivenUp = await disableFailing(endpoint, recorded.failingSince);
    return isGivenUp ? { ...NOTHING_FOLLOWED, disabledAs: 'failing' } : NOTHING_FOLLOWED;
  }

  async function heedReceiver({ endpoint, disabledBy }: SettleInput): Promise<DisabledReason | undefined> {
    if (disabledBy === undefined) return undefined;
    const { accountId, id } = endpoint;
    const { hasChanged } = await disable(accountId, id, disabledBy, wasNotEnabledSince(endpoint));
    return hasChanged ? disabledBy : undefined;
  }

  async function letNextThrough({ endpoint: { accountId, id }, ...input }: SettleInput): Promise<void> {
    if (input.wasReleased) waitingHere.add(id);
    if (!waitingHere.has(id)) return;
    if (!input.delivered && lanes.isSlow(id)) await wakeQueue.wake(accountId, id, clock() + SLOW_PAUSE_MS);
    else await openGate(accountId, id, windows.freePlaces(id));
  }

  async function announceOpened(
    { id: endpointId, accountId }: Endpoint,
    { failures, openUntil }: RecordedFailure,
  ): Promise<void> {
    emit({ name: 'breaker.opened', endpointId, failures, openForMs: openUntil - clock() });
    await wakeQueue.wake(accountId, endpointId, openUntil);
  }
}

export type Settle = ReturnType<typeof createSettle>;
