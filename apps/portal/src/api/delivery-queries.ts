import type { components, paths } from '@hookferry/client';
import { queryOptions, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import type { Api } from './client';
import { queryKeys } from './query-keys';

export type Delivery = components['schemas']['Delivery'];
export type DeliveryWithAttempts = components['schemas']['DeliveryWithAttempts'];
export type DeliveryStatus = components['schemas']['DeliveryStatus'];
export type AttemptOutcome = components['schemas']['AttemptOutcome'];
export type Attempt = components['schemas']['Attempt'];
export type Hold = components['schemas']['Hold'];

type Query = NonNullable<paths['/v1/deliveries']['get']['parameters']['query']>;

/** The filters of a list. `last_hours` is counted back from the time of each request. */
export type DeliveryFilters = Omit<Query, 'limit' | 'cursor'> & { readonly last_hours?: number };

const PAGE_SIZE = 50;
// Of a list whose attempts are counted to its end.
const COUNTED_PAGE_SIZE = 200;
const HOUR_MS = 3_600_000;

/** The deliveries of an account, the newest first. New ones are not shown by themselves: what is being read would move. */
export function useDeliveries(filters: DeliveryFilters) {
  const api = useApi();
  return useInfiniteQuery({
    queryKey: queryKeys.deliveries(filters),
    meta: { keepsItsRows: true },
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => listDeliveries(api, filters, pageParam, signal),
    getNextPageParam: ({ next_cursor: next }) => next ?? undefined,
  });
}

export function listDeliveries(
  api: Api,
  { last_hours: lastHours, ...filters }: DeliveryFilters,
  cursor?: string,
  signal?: AbortSignal,
) {
  const since =
    lastHours === undefined ? undefined : new Date(new Date().getTime() - lastHours * HOUR_MS).toISOString();
  const query = {
    ...filters,
    limit: isOfAttempts(filters) ? COUNTED_PAGE_SIZE : PAGE_SIZE,
    ...(since !== undefined && { since }),
    ...(cursor !== undefined && { cursor }),
  };
  return ask(api.GET('/v1/deliveries', { params: { query }, ...(signal && { signal }) }));
}

/** Whether a list is of deliveries with certain attempts, which it counts then. */
export function isOfAttempts(filters: DeliveryFilters): boolean {
  const { attempted_since: since, attempted_until: until, attempt_outcome: ways } = filters;
  return [since, until, ways].some((filter) => filter !== undefined);
}

/** One delivery with every attempt. */
/** @param id `undefined`: there is none yet. */
export function useDelivery(id: string | undefined) {
  return useQuery({ ...oneDelivery(useApi(), id ?? ''), enabled: id !== undefined });
}

export function oneDelivery(api: Api, id: string) {
  return queryOptions({
    queryKey: queryKeys.delivery(id),
    queryFn: ({ signal }) => ask(api.GET('/v1/deliveries/{id}', { params: { path: { id } }, signal })),
  });
}

export function useRedeliver(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => ask(api.POST('/v1/deliveries/{id}/redeliver', { params: { path: { id } } })),
    onSuccess: (delivery) => queries.setQueryData(queryKeys.delivery(id), delivery),
  });
}

/** The body of a delivery, in the format of its webhook. */
export function useDeliveryContent(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: [...queryKeys.delivery(id), 'content'],
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/deliveries/{id}/content', { params: { path: { id } }, signal })),
  });
}

/** See `eventText`. */
export function useEventText(id: string | undefined) {
  const api = useApi();
  return useQuery({ ...eventText(api, id ?? ''), enabled: id !== undefined });
}

/**
 * The text of an event as the service wrote it. Parsed and written again it would be another one: numbers and spaces
 * change.
 */
export function eventText(api: Api, id: string) {
  return queryOptions({
    queryKey: [...queryKeys.event(id), 'text'],
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/events/{id}', { params: { path: { id } }, parseAs: 'text', signal })),
  });
}
