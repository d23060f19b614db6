import type { components } from '@hookferry/client';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useApi } from './api-context';
import { ask } from './ask';
import type { Api } from './client';
import { queryKeys } from './query-keys';
import { usePages } from './use-pages';

export type Replay = components['schemas']['Replay'];
export type ReplayWithResults = components['schemas']['ReplayWithResults'];
/** How a delivery of a replay ended, or that it goes on. */
export type ReplayResult = Exclude<keyof NonNullable<ReplayWithResults['results']>, 'counted'>;
export type NewReplay = components['schemas']['NewReplay'];

// Two steps of a replay.
const LOOK_EVERY_MS = 1_000;

export function hasEnded({ status }: Replay): boolean {
  return status !== 'counting' && status !== 'running';
}

/** A replay, followed until it is over. */
export function useReplay(id: string | undefined) {
  const api = useApi();
  return useQuery({
    ...oneReplay(api, id ?? ''),
    enabled: id !== undefined,
    refetchInterval: ({ state: { data } }) => (data === undefined || hasEnded(data) ? false : LOOK_EVERY_MS),
  });
}

export function oneReplay(api: Api, id: string) {
  return queryOptions({
    queryKey: queryKeys.replay(id),
    queryFn: ({ signal }) => ask(api.GET('/v1/replays/{id}', { params: { path: { id } }, signal })),
  });
}

// What is held, or waits for its next attempt, may stay so for days.
const COUNT_EVERY_MS = 5_000;

/** A replay with the results of its deliveries, followed until none of them is under way. */
export function useReplayResults(id: string) {
  const api = useApi();
  return useQuery({
    queryKey: [...queryKeys.replay(id), 'results'],
    queryFn: ({ signal }) => {
      const params = { path: { id }, query: { include: 'results' } } as const;
      return ask(api.GET('/v1/replays/{id}', { params, signal }));
    },
    refetchInterval: ({ state: { data } }) => {
      if (data === undefined) return false;
      if (!hasEnded(data)) return LOOK_EVERY_MS;
      return data.results?.pending ? COUNT_EVERY_MS : false;
    },
  });
}

/** The deliveries that a replay has queued, page by page, read again as it goes on. @param result absent: all */
export function useReplayDeliveries(
  { id, enqueued, results }: ReplayWithResults,
  result: ReplayResult | undefined,
) {
  const api = useApi();
  const queries = useQueryClient();
  const progress = `${enqueued} ${results?.pending}`;
  const seen = useRef('');
  useEffect(() => {
    if (seen.current === progress) return;
    seen.current = progress;
    void queries.invalidateQueries({ queryKey: queryKeys.deliveries({ replay: id }) });
  }, [queries, id, progress]);
  return usePages(queryKeys.deliveries({ replay: id, result }), (paging, signal) => {
    const params = { path: { id }, query: { ...(result && { result }), ...paging } };
    return ask(api.GET('/v1/replays/{id}/deliveries', { params, signal }));
  });
}

/** A webhook's last replays. */
export function useReplays(webhookId: string) {
  const api = useApi();
  return useQuery({
    queryKey: queryKeys.replays(webhookId),
    queryFn: async ({ signal }) => {
      const params = { path: { id: webhookId }, query: { limit: 5 } };
      return (await ask(api.GET('/v1/webhooks/{id}/replays', { params, signal }))).data;
    },
  });
}

export function useStartReplay(webhookId: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: NewReplay) =>
      ask(api.POST('/v1/webhooks/{id}/replays', { params: { path: { id: webhookId } }, body })),
    onSuccess: (replay) => {
      queries.setQueryData(queryKeys.replay(replay.id), replay);
      return queries.invalidateQueries({ queryKey: queryKeys.replays(webhookId) });
    },
  });
}

export function useCancelReplay(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => ask(api.DELETE('/v1/replays/{id}', { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: queryKeys.replay(id) }),
  });
}
