import { MutationCache, QueryClient } from '@tanstack/react-query';
import { ProblemError } from './problem';
import { queryKeys } from './query-keys';

declare module '@tanstack/react-query' {
  interface Register {
    readonly queryMeta: {
      /** What is read again would move: it is changed in place, and the page asks for the rest itself. */
      readonly keepsItsRows?: boolean;
    };
  }
}

const RETRIES = 3;
// What a page shows again within this time is not asked for again: the stream tells of changes.
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
        // What a browser says of its connection is no answer: a request that fails says so, and is made again.
        networkMode: 'always',
        staleTime: STALE_AFTER_MS,
        retry: (failures, error) => failures < RETRIES && error instanceof ProblemError && error.isPassing,
      },
      mutations: { networkMode: 'always', retry: false },
    },
  });
  return queries;
}
