import type { components } from '@hookferry/client';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import type { Api } from './client';
import { queryKeys } from './query-keys';

export type Replay = components['schemas']['Replay'];
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
