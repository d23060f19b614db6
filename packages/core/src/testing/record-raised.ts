import type { AccountId } from '../events/event';
import type { OperationalEvent } from '../operational-events/operational-event';
import type { RaiseEvents } from '../operational-events/operational-events';

/** Remembers what accounts were told. */
export function recordRaised() {
  const events: (OperationalEvent & { readonly accountId: AccountId })[] = [];
  const raise: RaiseEvents = (accountId, raised) => {
    for (const event of raised) events.push({ ...event, accountId });
  };
  return { raise, events };
}
