import type { components } from '@hookferry/client';
import { useQuery } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import { queryKeys } from './query-keys';

export type EventType = components['schemas']['EventType'];

/** The catalogue: all of it at once. */
export function useEventTypes({ isWanted = true }: { readonly isWanted?: boolean } = {}) {
  const api = useApi();
  return useQuery({
    queryKey: queryKeys.eventTypes(),
    queryFn: async ({ signal }) => (await ask(api.GET('/v1/event-types', { signal }))).data,
    enabled: isWanted,
  });
}

export function useEventType(name: string) {
  const api = useApi();
  return useQuery({
    queryKey: queryKeys.eventType(name),
    queryFn: ({ signal }) => ask(api.GET('/v1/event-types/{name}', { params: { path: { name } }, signal })),
  });
}
