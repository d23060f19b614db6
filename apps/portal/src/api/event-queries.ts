import type { components } from '@hookferry/client';
import { useApi } from './api-context';
import { ask } from './ask';
import { queryKeys } from './query-keys';
import { usePages } from './use-pages';

export type ListedEvent = components['schemas']['ListedEvent'];

export interface EventFilters {
  readonly type?: string;
  /** A JSON object that the data contain. */
  readonly data?: string;
  /** RFC 3339 */
  readonly since?: string;
  readonly until?: string;
}

const PAGE_SIZE = 50;

/** What was published, the newest first, as far as it was paged to. */
export function useEvents(filters: EventFilters) {
  const api = useApi();
  return usePages(queryKeys.events(filters), (paging, signal) => {
    const query = { ...filters, limit: PAGE_SIZE, ...paging };
    return ask(api.GET('/v1/events', { params: { query }, signal }));
  });
}
