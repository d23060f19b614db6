import type { components } from '@hookferry/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import { queryKeys } from './query-keys';

export type Pause = components['schemas']['Pause'];
export type PausedQueue = components['schemas']['PausedQueue'];

/** What an operator pauses: an account, or a queue in all of its shards. */
export type PauseSubject =
  | { readonly kind: 'account'; readonly id: string }
  | { readonly kind: 'queue'; readonly id: PausedQueue['name'] };

export type PauseOrder = { readonly act: 'pause'; readonly reason: string } | { readonly act: 'resume' };

// A queue stays paused for minutes, and each page of an operator asks.
const EVERY_MS = 15_000;

/** The queues that are paused. */
export function usePausedQueues() {
  const api = useApi();
  return useQuery({
    queryKey: queryKeys.pausedQueues(),
    queryFn: async ({ signal }): Promise<readonly PausedQueue[]> => {
      const { queues } = await ask(api.GET('/v1/operations', { signal }));
      const paused = queues.flatMap(({ name, paused: isPaused, pause }) =>
        isPaused && isPausable(name) ? [[name, { name, pause }] as const] : [],
      );
      return [...new Map(paused).values()];
    },
    refetchInterval: EVERY_MS,
    staleTime: EVERY_MS,
  });
}

function isPausable(name: string): name is PausedQueue['name'] {
  return name === 'deliveries' || name === 'events';
}

/** Pauses or resumes, and shows that on every page that tells of it. */
export function usePausing(subject: PauseSubject) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (order: PauseOrder): Promise<Pause | null> => {
      const body = order.act === 'pause' ? { reason: order.reason } : {};
      if (subject.kind === 'queue') {
        const params = { path: { name: subject.id } };
        const queue =
          order.act === 'pause'
            ? await ask(api.POST('/v1/operations/queues/{name}/pause', { params, body }))
            : await ask(api.POST('/v1/operations/queues/{name}/resume', { params }));
        return queue.pause;
      }
      const params = { path: { id: subject.id } };
      const account =
        order.act === 'pause'
          ? await ask(api.POST('/v1/accounts/{id}/pause', { params, body }))
          : await ask(api.POST('/v1/accounts/{id}/resume', { params }));
      return account.pause;
    },
    onSuccess: async (pause) => {
      if (subject.kind === 'queue') {
        queries.setQueryData<readonly PausedQueue[]>(queryKeys.pausedQueues(), (before = []) => [
          ...before.filter(({ name }) => name !== subject.id),
          ...(pause ? [{ name: subject.id, pause }] : []),
        ]);
      } else {
        await queries.invalidateQueries({ queryKey: queryKeys.account(subject.id) });
        await queries.invalidateQueries({ queryKey: queryKeys.accounts() });
      }
      // The service reads its state once a second at most.
      setTimeout(() => void queries.invalidateQueries({ queryKey: queryKeys.operations() }), STATE_KEPT_MS);
    },
  });
}

const STATE_KEPT_MS = 1_000;
