import type { OperationalEvent } from '../intake/operational-event';
import type { RaiseEvents } from '../intake/operational-events';
import type { AccountId } from '../model/event';

/** Remembers what accounts were told. */
export function recordRaised() {
  const events: (OperationalEvent & { readonly accountId: AccountId })[] = [];
  const raise: RaiseEvents = (accountId, raised) => {
    for (const event of raised) events.push({ ...event, accountId });
  };
  return { raise, events };
}
