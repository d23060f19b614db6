import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { type Operations, type Reading, readingOf } from './operations';

/** As often as workers read what they share. */
const EVERY_MS = 5_000;
/** Five minutes. */
const KEPT = 60;

interface Observed {
  readonly operations: Operations;
  /** The oldest first. */
  readonly history: readonly Reading[];
}

/** Reads the state of the service regularly while the page is visible, and keeps earlier readings. */
export function useOperations() {
  const api = useApi();
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: queryKeys.operations(),
    queryFn: async ({ queryKey, signal }): Promise<Observed> => {
      const operations = await ask(api.GET('/v1/operations', { signal }));
      const before = queries.getQueryData<Observed>(queryKey)?.history ?? [];
      return { operations, history: [...before, readingOf(operations)].slice(-KEPT) };
    },
    refetchInterval: EVERY_MS,
    staleTime: EVERY_MS,
  });
  return { data, error, refetch: () => void refetch() };
}
