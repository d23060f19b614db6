import type { AdmissionStore } from '../admission/redis-admission-store';
import type { Releaser } from '../admission/releaser';
import type { Clock } from '../kernel/clock';
import type { Endpoint } from '../model/endpoint';
import type { EventId } from '../model/event';

export interface LeaveOrderDeps {
  readonly admissionStore: Pick<AdmissionStore, 'leaveOrder'>;
  readonly releaser: Pick<Releaser, 'lookAt'>;
  readonly clock: Clock;
}

/** A delivery that has ended makes room for the one behind it, if they go one at a time. Otherwise nothing to do. */
export function createLeaveOrder({ admissionStore, releaser, clock }: LeaveOrderDeps) {
  return async function leaveOrder(
    { accountId, id, ordering }: Pick<Endpoint, 'accountId' | 'id' | 'ordering'>,
    eventId: EventId,
  ): Promise<void> {
    if (ordering !== 'strict') return;
    await admissionStore.leaveOrder(id, eventId);
    releaser.lookAt(accountId, id, clock());
  };
}

export type LeaveOrder = ReturnType<typeof createLeaveOrder>;
