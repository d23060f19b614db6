import type { components } from '@hookferry/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import { queryKeys } from './query-keys';

export type ListedEvent = components['schemas']['ListedEvent'];

export interface EventFilters {
  readonly type?: string;
  /** RFC 3339 */
  readonly since?: string;
  readonly until?: string;
}

const PAGE_SIZE = 50;

/** What was published, the newest first, as far as it was paged to. */
export function useEvents(filters: EventFilters) {
  const api = useApi();
  return useInfiniteQuery({
    queryKey: queryKeys.events(filters),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor, signal }) => {
      const query = { ...filters, limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
      return ask(api.GET('/v1/events', { params: { query }, signal }));
    },
    getNextPageParam: ({ next_cursor: next }) => next ?? undefined,
  });
}
