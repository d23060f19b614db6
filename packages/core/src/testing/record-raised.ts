import type { AccountId } from '../domain/account';
import type { OperationalEvent, RaiseEvents } from '../endpoints/operational-events';

/** Remember the operational events of accounts. */
export function recordRaised() {
  const events: (OperationalEvent & { readonly accountId: AccountId })[] = [];
  const raise: RaiseEvents = (accountId, raised) => {
    for (const event of raised) events.push({ ...event, accountId });
  };
  return { raise, events };
}
