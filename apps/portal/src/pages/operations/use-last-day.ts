import type { components, paths } from '@hookferry/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';

export type Sample = components['schemas']['OperationsSample'];
export type HeavyAccount = components['schemas']['HeavyAccount'];
export type Readiness = components['schemas']['Readiness'];
export type Finding = components['schemas']['ReadinessFinding'];
export type Measure = NonNullable<
  NonNullable<paths['/v1/operations/accounts']['get']['parameters']['query']>['by']
>;

// A sample is taken every five minutes, what accounts use is written every ten seconds.
const EVERY_MS = 15_000;
const OPTIONS = {
  refetchInterval: EVERY_MS,
  staleTime: EVERY_MS,
  placeholderData: keepPreviousData,
} as const;

/** The samples of queues and workers of the last 24 hours. */
export function useLastDay() {
  const api = useApi();
  return useQuery({
    ...OPTIONS,
    queryKey: queryKeys.operationsLastDay(),
    queryFn: ({ signal }) => ask(api.GET('/v1/operations/last-day', { signal })),
  });
}

/** The accounts that used most over the last 24 hours. */
export function useHeavyAccounts(by: Measure) {
  const api = useApi();
  return useQuery({
    ...OPTIONS,
    queryKey: queryKeys.heavyAccounts(by),
    queryFn: ({ signal }) => ask(api.GET('/v1/operations/accounts', { params: { query: { by } }, signal })),
  });
}

/** Missing for production. */
export function useReadiness() {
  const api = useApi();
  return useQuery({
    ...OPTIONS,
    queryKey: queryKeys.readiness(),
    queryFn: ({ signal }) => ask(api.GET('/v1/operations/readiness', { signal })),
  });
}
