import { keywordQuickWin } from '../accounts/event-types/built-in';
import type { AcceptedEvent } from '../domain/event';
import { uniqueAccountId, uniqueEventId } from './unique-ids';

/** A `keyword.quick_win` event, in an account of its own unless `change` names one. */
export function buildEvent(change: Partial<AcceptedEvent> = {}): AcceptedEvent {
  const { name: type, example: data } = keywordQuickWin;
  return {
    id: uniqueEventId(),
    accountId: uniqueAccountId(),
    type,
    body: JSON.stringify({ type, data }),
    acceptedAt: 1_700_000_000_000,
    ...change,
  };
}

/** One that is sent an hour from now, unless `deliverAt` says otherwise. */
export function buildScheduledEvent({
  deliverAt = Date.now() + 3_600_000,
  ...change
}: Partial<AcceptedEvent> & { readonly deliverAt?: number } = {}): AcceptedEvent {
  const schedule = { state: 'waiting', publishedAt: 1_700_000_000_000, deliverAt } as const;
  return buildEvent({ acceptedAt: deliverAt, schedule, ...change });
}
