import type { AccountId } from '../domain/account';
import { type EventId, eventNotFound } from '../domain/event';
import { textOfMember } from '../platform/json';
import type { DeliveryCounts, ListedEvent } from './history-source';
import type { WholeHistory } from './whole-history';

/** An event as it was published, and the state of its deliveries. */
export interface PublishedEvent extends Omit<ListedEvent, 'deliveryCount'> {
  /** The JSON text of its data, as it was sent; `null` once that was erased. */
  readonly dataText: string;
  readonly deliveries: DeliveryCounts;
  readonly group?: string;
}

export interface ReadEventContext {
  readonly history: Pick<WholeHistory, 'findCounted'>;
}

/** @throws AppError `not_found`, also for another account's event. */
export async function readEvent(
  { history }: ReadEventContext,
  accountId: AccountId,
  id: EventId,
): Promise<PublishedEvent> {
  const found = await history.findCounted(accountId, id);
  if (!found) throw eventNotFound();
  const { event, counts: deliveries } = found;
  const { type, acceptedAt: createdAt, schedule, group } = event;
  const listed = {
    id,
    type,
    createdAt,
    deliveries,
    ...(schedule === undefined ? {} : { schedule }),
    ...(group === undefined ? {} : { group }),
  };
  if (event.body === undefined) return { ...listed, dataText: 'null', erasedAt: event.erasedAt };
  return { ...listed, dataText: textOfMember(event.body, 'data') ?? 'null' };
}
