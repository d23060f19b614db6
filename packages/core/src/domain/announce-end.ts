import type { Clock } from '../platform/clock';
import type { AccountId } from './account';
import { type DeliveryParts, deliveryIdOf } from './delivery';
import type { EndStatus } from './delivery-log';
import type { Emit, GrowingSignal } from './signal';
import type { TraceContext } from './trace';

export interface AnnounceEndContext {
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface EndedDelivery extends DeliveryParts {
  /** Absent where it is not known. */
  readonly accountId?: AccountId | undefined;
}

interface EndedEvent {
  readonly trace: TraceContext | undefined;
  readonly requestId: string | undefined;
}

/**
 * Announce that a delivery has ended, and how long after it began.
 *
 * @param event its trace, and the request that published it, if known.
 * @param begunAt when its event was accepted or the delivery was requested, if known.
 */
export function announceEnd(
  { clock, emit }: AnnounceEndContext,
  { accountId, eventId, endpointId }: EndedDelivery,
  status: EndStatus,
  begunAt: number | undefined,
  { trace, requestId }: Partial<EndedEvent> = {},
): void {
  const ended: GrowingSignal<'delivery.ended'> = {
    name: 'delivery.ended',
    deliveryId: deliveryIdOf({ eventId, endpointId }),
    eventId,
    endpointId,
    status,
    lagMs: begunAt === undefined ? 0 : clock() - begunAt,
  };
  if (accountId !== undefined) ended.accountId = accountId;
  if (requestId !== undefined) ended.requestId = requestId;
  if (trace !== undefined) ended.traceId = trace.traceId;
  emit(ended);
}
