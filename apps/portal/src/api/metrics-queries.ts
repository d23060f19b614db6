import type { components, paths } from '@hookferry/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import type { Api } from './client';
import { ProblemError } from './problem';
import { queryKeys } from './query-keys';
import { pagesOf } from './use-pages';
import type { WebhookWithHealth } from './webhook-queries';

export type DeliveryMetrics = components['schemas']['DeliveryMetrics'];
export type MetricsPoint = components['schemas']['DeliveryMetricsPoint'];
export type EventMetrics = components['schemas']['EventMetrics'];
export type Interval = EventMetrics['interval'];

type Given = NonNullable<paths['/v1/metrics/deliveries']['get']['parameters']['query']>;
type Query = Given & { readonly interval: DeliveryMetrics['interval'] };

// The page reads them again itself, when something has changed: not with each change.
const OPTIONS = {
  meta: { keepsItsRows: true },
  placeholderData: keepPreviousData,
  refetchOnWindowFocus: false,
} as const;

const INTERVALS: readonly Interval[] = ['1m', '5m', '1h', '1d'];

/** The attempts of a time, where there are too many points of longer intervals. None is asked for while `isWanted` is false. */
export function useDeliveryMetrics(query: Query, isWanted = true) {
  const api = useApi();
  return useQuery({
    ...OPTIONS,
    enabled: isWanted,
    queryKey: queryKeys.metrics('deliveries', query),
    queryFn: ({ signal }) => readMetrics(api, query, signal),
  });
}

async function readMetrics(api: Api, query: Query, signal: AbortSignal): Promise<DeliveryMetrics> {
  const read = (interval: Query['interval']) =>
    ask(api.GET('/v1/metrics/deliveries', { params: { query: { ...query, interval } }, signal }));
  return await read(query.interval).catch((error: unknown) => {
    const at = INTERVALS.findIndex((interval) => interval === query.interval);
    const other = INTERVALS[at + 1];
    const isRefused = error instanceof ProblemError && error.code === 'invalid_request';
    if (!isRefused || at < 0 || other === undefined) throw error;
    return read(other);
  });
}

/** The events that were accepted in a time; none is asked for while `isWanted` is false. */
export function useEventMetrics(
  query: { readonly interval: Interval; readonly since?: string; readonly until?: string },
  { isWanted }: { readonly isWanted: boolean },
) {
  const api = useApi();
  return useQuery({
    ...OPTIONS,
    enabled: isWanted,
    queryKey: queryKeys.metrics('events', query),
    queryFn: ({ signal }) => ask(api.GET('/v1/metrics/events', { params: { query }, signal })),
  });
}

// Of each page of the API, which reads the health of each.
const PAGE_SIZE = 200;
const MOST_LOOKED_AT = 600;

/** Whether it fails is counted as the list does that shows those. */
export type Standing = WebhookWithHealth & { readonly isFailing: boolean };

export interface Standings {
  /** Those that fail, then the others. */
  readonly webhooks: readonly Standing[];
  /** True if not all were counted. */
  readonly isPart: boolean;
}

/** The account's webhooks with how they do now. */
export function useStandings() {
  const api = useApi();
  return useQuery({
    ...OPTIONS,
    queryKey: queryKeys.standings(),
    queryFn: async ({ signal }): Promise<Standings> => {
      const webhooks: Standing[] = [];
      for (const failing of ['true', 'false'] as const) {
        const pages = pagesOf((paging) => {
          const query = { limit: PAGE_SIZE, include: 'health' as const, failing, ...paging };
          return ask(api.GET('/v1/webhooks', { params: { query }, signal }));
        });
        for await (const { data } of pages) {
          const isFailing = failing === 'true';
          webhooks.push(...(data as WebhookWithHealth[]).map((webhook) => ({ ...webhook, isFailing })));
          if (webhooks.length > MOST_LOOKED_AT)
            return { webhooks: webhooks.slice(0, MOST_LOOKED_AT), isPart: true };
        }
      }
      return { webhooks, isPart: false };
    },
  });
}
