import type { Endpoint, EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';
import { matchesType } from './event-filter';
import type { EndpointPage, EndpointStore } from './redis-endpoint-store';
import type { Subscriber } from './stored-endpoint';

/** What an endpoint must be to be listed. */
export interface EndpointFilter {
  readonly status?: Endpoint['status'] | undefined;
  /** It asked for events of this type. */
  readonly eventType?: string | undefined;
}

const READ_AT_ONCE = 250;

/** A page of an account's endpoints, newest first. The records of those that do not match are not read. */
export async function listMatching(
  endpointStore: Pick<EndpointStore, 'list' | 'findAll' | 'listSubscribersByPage'>,
  accountId: AccountId,
  filter: EndpointFilter,
  limit: number,
  before?: EndpointId,
): Promise<EndpointPage> {
  if (filter.status === undefined && filter.eventType === undefined) {
    return await endpointStore.list(accountId, limit, before);
  }
  const found: EndpointId[] = [];
  let cursor = before;
  do {
    const page = await endpointStore.listSubscribersByPage(accountId, READ_AT_ONCE, cursor);
    found.push(...page.subscribers.filter((one) => matches(one, filter)).map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length <= limit);
  const ids = found.slice(0, limit);
  const endpoints = await endpointStore.findAll(accountId, ids);
  return {
    // One may have changed meanwhile.
    endpoints: endpoints.filter((endpoint) => matches(endpoint, filter)),
    nextCursor: found.length > limit ? ids.at(-1) : undefined,
  };
}

function matches({ status, events }: Subscriber, filter: EndpointFilter): boolean {
  if (filter.status !== undefined && filter.status !== status) return false;
  const { eventType } = filter;
  return eventType === undefined || events.some((asked) => matchesType(asked, eventType));
}
