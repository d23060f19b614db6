import { systemClock } from '../kernel/clock';
import { createNewId } from '../kernel/ids';
import type { EndpointId } from '../model/endpoint';
import type { AccountId, EventId } from '../model/event';

const newId = createNewId(systemClock);

/** Tests of one file share a database; an account of its own keeps each of them to itself. */
export function uniqueAccountId(): AccountId {
  return newId('acct') as AccountId;
}

export function uniqueEventId(): EventId {
  return newId('evt') as EventId;
}

export function uniqueEndpointId(): EndpointId {
  return newId('wh') as EndpointId;
}
