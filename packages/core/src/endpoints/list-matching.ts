import type { AccountId } from '../events/event';
import type { Endpoint, EndpointId } from './endpoint';
import { matchesType } from './event-filter';
import type { EndpointPage, EndpointStore } from './redis-endpoint-store';

/** What an endpoint must be to be listed. */
export interface EndpointFilter {
  readonly status?: Endpoint['status'] | undefined;
  /** It asked for events of this type. */
  readonly eventType?: string | undefined;
}

const READ_AT_ONCE = 200;

/** A page of an account's endpoints, newest first: as many reads as it takes to fill it. */
export async function listMatching(
  endpointStore: Pick<EndpointStore, 'list'>,
  accountId: AccountId,
  filter: EndpointFilter,
  limit: number,
  before?: EndpointId,
): Promise<EndpointPage> {
  const found: Endpoint[] = [];
  let cursor = before;
  do {
    const page = await endpointStore.list(accountId, READ_AT_ONCE, cursor);
    found.push(...page.endpoints.filter((endpoint) => matches(endpoint, filter)));
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length <= limit);
  const endpoints = found.slice(0, limit);
  return { endpoints, nextCursor: found.length > limit ? endpoints.at(-1)?.id : undefined };
}

function matches({ status, events }: Endpoint, filter: EndpointFilter): boolean {
  if (filter.status !== undefined && filter.status !== status) return false;
  const { eventType } = filter;
  return eventType === undefined || events.some((asked) => matchesType(asked, eventType));
}
