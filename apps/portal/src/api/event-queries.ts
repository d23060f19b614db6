import type { components } from '@hookferry/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import { queryKeys } from './query-keys';
import { usePages } from './use-pages';

export type ListedEvent = components['schemas']['ListedEvent'];

export interface EventFilters {
  /** Those that wait for their time, the next one first; `since` and `until` are about that. */
  readonly status?: 'scheduled';
  readonly type?: string;
  /** A JSON object that the data contain. */
  readonly data?: string;
  /** RFC 3339 */
  readonly since?: string;
  readonly until?: string;
}

const PAGE_SIZE = 50;

/** The published or scheduled events, page by page, the newest first. */
export function useEvents(filters: EventFilters) {
  const api = useApi();
  return usePages(queryKeys.events(filters), (paging, signal) => {
    const query = { ...filters, include: 'deliveries' as const, limit: PAGE_SIZE, ...paging };
    return ask(api.GET('/v1/events', { params: { query }, signal }));
  });
}

/** The webhooks that an event has no delivery for, page by page. @param isAll whether also those that do not subscribe to its type. */
export function useExplanations(eventId: string, isAll: boolean) {
  const api = useApi();
  return usePages(queryKeys.explanations(eventId, isAll), (paging, signal) => {
    const query = {
      has_delivery: 'false' as const,
      ...(!isAll && { subscribed: 'true' as const }),
      limit: PAGE_SIZE,
      ...paging,
    };
    const params = { path: { id: eventId }, query };
    return ask(api.GET('/v1/events/{id}/explanations', { params, signal }));
  });
}

export type ScheduleChange =
  /** RFC 3339 */
  { readonly kind: 'move'; readonly to: string } | { readonly kind: 'cancel' };

/** Moves or cancels an event that waits for its time. What is shown of it is read again, also when it was too late. */
export function useChangeSchedule(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  const params = { path: { id } };
  return useMutation({
    mutationFn: async (change: ScheduleChange) => {
      if (change.kind === 'cancel') return await ask(api.DELETE('/v1/events/{id}', { params }));
      return await ask(api.PATCH('/v1/events/{id}', { params, body: { deliver_at: change.to } }));
    },
    // Nobody waits for it: how the change went is said at once.
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: queryKeys.event(id) });
      void queries.invalidateQueries({ queryKey: ['events'] });
    },
  });
}

interface Published {
  readonly type: string;
  /** JSON, which is sent as it is written: parsed and written again, numbers would be others. */
  readonly dataText: string;
  /** RFC 3339; `undefined`: now. */
  readonly deliverAt: string | undefined;
}

export function usePublish() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ type, dataText, deliverAt }: Published): Promise<{ readonly id: string }> => {
      const body = { type, data: dataText };
      const due = deliverAt === undefined ? '' : `,"deliver_at":${JSON.stringify(deliverAt)}`;
      const bodySerializer = () => `{"type":${JSON.stringify(type)}${due},"data":${dataText}}`;
      return (await ask(api.POST('/v1/events', { body, bodySerializer }))) as { readonly id: string };
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['events'] }),
  });
}

const MOST_LOOKS = 30;
const LOOK_EVERY_MS = 1_000;

/** The first deliveries of an event that was just published, followed until they have a response, for half a minute at most. */
export function useFirstDeliveries(eventId: string | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: queryKeys.eventDeliveries(eventId ?? ''),
    enabled: eventId !== undefined,
    queryFn: async ({ signal }) => {
      const params = { path: { id: eventId ?? '' }, query: { limit: 5 } };
      return (await ask(api.GET('/v1/events/{id}/deliveries', { params, signal }))).data;
    },
    refetchInterval: ({ state: { data = [], dataUpdateCount: looks } }) => {
      const haveAllBegun = data.length > 0 && data.every(({ attempt_count: count }) => count > 0);
      return haveAllBegun || looks > MOST_LOOKS ? false : LOOK_EVERY_MS;
    },
  });
}
