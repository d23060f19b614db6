import type { components } from '@hookferry/client';
import { type QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask, askTagged } from './ask';
import type { Api } from './client';
import { queryKeys } from './query-keys';
import { pagesOf, usePages } from './use-pages';

export type Webhook = components['schemas']['Webhook'];
export type WebhookWithHealth = components['schemas']['WebhookWithHealth'];
/** With the tag of its settings as they were read. */
export type ReadWebhook = WebhookWithHealth & { readonly etag: string | null };
export type Health = components['schemas']['Health'];
export type NewWebhook = components['schemas']['NewWebhook'];
export type WebhookPatch = components['schemas']['WebhookPatch'];

// Each comes with its health of a day.
const PAGE_SIZE = 50;
// That the API gives.
const LARGEST_PAGE = 200;
// As many as an account may have, unless the operator allows more.
const MOST_NAMED = 500;

/** The account's webhooks with their health, as far as they were paged to. */
export function useWebhooks() {
  const api = useApi();
  return usePages(queryKeys.webhooks(), (paging, signal) => {
    const query = { limit: PAGE_SIZE, include: 'health' as const, ...paging };
    return ask(api.GET('/v1/webhooks', { params: { query }, signal }));
  });
}

/** All webhooks of the account without their health: to choose from, and to name by. */
export function useAllWebhooks(isWanted: boolean) {
  const api = useApi();
  return useQuery({
    enabled: isWanted,
    queryKey: queryKeys.allWebhooks(),
    queryFn: ({ signal }) => readAllWebhooks(api, signal),
  });
}

/** As many as have names. */
export async function readAllWebhooks(api: Api, signal?: AbortSignal): Promise<readonly Webhook[]> {
  const webhooks: Webhook[] = [];
  const pages = pagesOf((paging) => {
    const query = { limit: LARGEST_PAGE, ...paging };
    return ask(api.GET('/v1/webhooks', { params: { query }, ...(signal && { signal }) }));
  });
  for await (const { data } of pages) {
    webhooks.push(...data);
    if (webhooks.length >= MOST_NAMED) break;
  }
  return webhooks;
}

export function useWebhook(id: string) {
  return useQuery(oneWebhook(useApi(), id));
}

export function oneWebhook(api: Api, id: string) {
  return queryOptions({
    queryKey: queryKeys.webhook(id),
    queryFn: async ({ signal }): Promise<ReadWebhook> => {
      const call = api.GET('/v1/webhooks/{id}', { params: { path: { id } }, signal });
      const { data, etag } = await askTagged(call);
      return { ...data, etag };
    },
  });
}

export type CreatedWebhook = components['schemas']['CreatedWebhook'];

export function useCreateWebhook() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: NewWebhook) => ask(api.POST('/v1/webhooks', { body })),
    onSuccess: ({ id }) => refresh(queries, id),
  });
}

interface WebhookChange {
  readonly body: WebhookPatch;
  /** Of the state that it is meant for: it is refused when somebody has changed that. */
  readonly etag: string | null;
}

export function useUpdateWebhook(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ body, etag }: WebhookChange) => {
      const header = etag === null ? {} : { 'If-Match': etag };
      return ask(api.PATCH('/v1/webhooks/{id}', { params: { path: { id }, header }, body }));
    },
    onSuccess: () => refresh(queries, id),
  });
}

const switches = {
  enable: (api: Api, id: string) => api.POST('/v1/webhooks/{id}/enable', { params: { path: { id } } }),
  disable: (api: Api, id: string) => api.POST('/v1/webhooks/{id}/disable', { params: { path: { id } } }),
};

export function useSwitchWebhook(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (change: keyof typeof switches) => ask(switches[change](api, id)),
    onSuccess: () => refresh(queries, id),
  });
}

/** Ends what it holds now. */
export function useDiscardHeld(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => ask(api.POST('/v1/webhooks/{id}/discard-held', { params: { path: { id } } })),
    onSuccess: () => refresh(queries, id),
  });
}

/** Asks its receiver once more for the proof that it wants what is sent there. */
export function useVerifyWebhook(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => ask(api.POST('/v1/webhooks/{id}/verify', { params: { path: { id } } })),
    onSuccess: () => refresh(queries, id),
  });
}

export function useDeleteWebhook(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => ask(api.DELETE('/v1/webhooks/{id}', { params: { path: { id } } })),
    // Its page is left at once, not when the list is read: whatever it asks for meanwhile is not there any more.
    onSuccess: () => {
      queries.removeQueries({ queryKey: queryKeys.webhook(id) });
      void queries.invalidateQueries({ queryKey: queryKeys.webhooks() });
    },
  });
}

/** Waits until what is on the page is up to date: what follows a change must not show what was before it. */
async function refresh(queries: QueryClient, id: string): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: queryKeys.webhook(id) }),
    queries.invalidateQueries({ queryKey: queryKeys.webhooks() }),
  ]);
}
