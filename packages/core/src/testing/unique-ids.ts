import type { AccountId } from '../domain/account';
import type { ContactId, NotificationId } from '../domain/contact';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { systemClock } from '../platform/clock';
import { createNewId } from '../platform/ids';

const newId = createNewId(systemClock);

/** Tests of one file share a database; an account of its own keeps each of them to itself. */
export function uniqueAccountId(): AccountId {
  return newId('acct') as AccountId;
}

export function uniqueEventId(): EventId {
  return newId('evt') as EventId;
}

export function uniqueContactId(): ContactId {
  return newId('ct') as ContactId;
}

export function uniqueNotificationId(): NotificationId {
  return newId('ntf') as NotificationId;
}

export function uniqueEndpointId(): EndpointId {
  return newId('wh') as EndpointId;
}
