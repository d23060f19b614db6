import { MutationCache, QueryClient } from '@tanstack/react-query';
import { ProblemError } from './problem';
import { queryKeys } from './query-keys';

declare module '@tanstack/react-query' {
  interface Register {
    readonly queryMeta: {
      /** Rows stay where they are: changes are made in place, and the page loads new rows on request. */
      readonly keepsItsRows?: boolean;
    };
  }
}

const RETRIES = 3;
// Within this time a page shows cached data: the stream reports changes.
const STALE_AFTER_MS = 10_000;

/** Reads are repeated when that may help; nothing that changes something ever is. */
export function createQueryClient(): QueryClient {
  const queries: QueryClient = new QueryClient({
    // Every change leaves an entry there.
    mutationCache: new MutationCache({
      onSettled: () => queries.invalidateQueries({ queryKey: queryKeys.auditLogs() }),
    }),
    defaultOptions: {
      queries: {
        // The browser's online state is not reliable. A request that fails is made again.
        networkMode: 'always',
        staleTime: STALE_AFTER_MS,
        retry: (failures, error) =>
          failures < RETRIES && error instanceof ProblemError && error.isPassing && !error.isToWait,
      },
      mutations: { networkMode: 'always', retry: false },
    },
  });
  return queries;
}
