import type { EndpointId } from '../model/endpoint';
import type { AccountId, EventId } from '../model/event';
import type { HoldReason } from '../model/hold-reason';
import type { Emit } from '../model/signal';
import type { HeldDeliveries } from './held-deliveries';
import type { Releaser } from './releaser';

export interface HoldDeps {
  readonly heldDeliveries: Pick<HeldDeliveries, 'enter'>;
  readonly releaser: Pick<Releaser, 'lookAt' | 'awaitSlot'>;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  readonly emit: Emit;
}

export interface HoldInput {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  readonly eventId: EventId;
  readonly acceptedAt: number;
  readonly reason: HoldReason;
  /** When to look whether it may go. Milliseconds since the Unix epoch. */
  readonly lookAt: number;
  /** Of the event, for the log. */
  readonly traceId?: string | undefined;
  /** Whether it waits for a slot, whichever endpoint's attempt frees it. */
  readonly awaitsSlot?: boolean | undefined;
  /** Whether what is refused to it would be refused to the endpoint's next ones as well. */
  readonly isForAll: boolean;
}

/**
 * A held delivery's job comes back to be asked again after this, whatever was forgotten; and that its event is gone
 * meanwhile is noticed then. Nothing waits for it as a rule: looks release what may go.
 */
const BOUND_MS = 3_600_000;

/**
 * Enters a delivery among the held ones. Waiting uses no attempt. Others of the endpoint that would be taken next only to be
 * refused are held along with it.
 *
 * @returns for how long its job is to be delayed, in milliseconds: between one hour and two, so that what was held together
 *   does not come back together.
 */
export function createHold({ heldDeliveries, releaser, random, emit }: HoldDeps) {
  return async function hold({
    reason,
    lookAt,
    awaitsSlot = false,
    isForAll,
    traceId,
    ...delivery
  }: HoldInput): Promise<number> {
    const { accountId, endpointId, eventId, acceptedAt } = delivery;
    const address = { accountId, endpointId };
    const entry = { eventId, acceptedAt };
    const alongForMs = isForAll ? BOUND_MS : undefined;
    const along = await heldDeliveries.enter(address, entry, lookAt, reason, alongForMs);
    releaser.lookAt(accountId, endpointId, lookAt);
    if (awaitsSlot) releaser.awaitSlot(accountId, endpointId);
    emit({
      name: 'delivery.held',
      ...address,
      eventId,
      reason,
      ...(traceId === undefined ? {} : { traceId }),
    });
    for (const each of along) emit({ name: 'delivery.held', ...address, eventId: each, reason });
    return Math.round(BOUND_MS * (1 + random()));
  };
}

export type Hold = ReturnType<typeof createHold>;
