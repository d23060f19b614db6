import type { EndpointId } from '../endpoints/endpoint';
import type { AccountId, EventId } from '../events/event';
import { systemClock } from '../runtime/clock';
import { createNewId } from '../runtime/ids';

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
