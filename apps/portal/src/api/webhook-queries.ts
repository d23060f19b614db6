import type { components } from '@hookferry/client';
import { type QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask, askTagged } from './ask';
import type { Api } from './client';
import { queryKeys } from './query-keys';
import { type Pages, pagesOf, usePages } from './use-pages';

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

export type WebhookOrder = 'failing' | 'newest';
export type ListedWebhook = components['schemas']['ListedWebhook'];

/** Which webhooks a list has. */
export interface WebhookList {
  /** A part of their name, URL or id; '' is any. */
  readonly search: string;
  /** Those that fail first, or all by their age. */
  readonly order: WebhookOrder;
  readonly show: ShownWebhooks;
}

/** Those that are enabled and fail, or those that were disabled because they failed. */
export type ShownWebhooks = 'all' | 'failing' | 'stopped';

/** Webhooks with their health, as far as they were paged to: of those that fail, and of the others, the newest first. */
export function useWebhooks(list: WebhookList): Pages<ListedWebhook> {
  const api = useApi();
  const { search, order, show } = list;
  const load = (
    signal: AbortSignal,
    failing: Failing | undefined,
    cursor: string,
    status?: Webhook['status'],
  ) => {
    const query = {
      limit: PAGE_SIZE,
      include: 'health' as const,
      ...(search !== '' && { search }),
      ...(failing && { failing }),
      ...(status && { status }),
      ...(cursor !== '' && { cursor }),
    };
    return ask(api.GET('/v1/webhooks', { params: { query }, signal }));
  };
  const pages = usePages(queryKeys.listedWebhooks(list), async ({ cursor = '' }, signal) => {
    if (show !== 'all')
      return await load(signal, 'true', cursor, show === 'failing' ? 'enabled' : 'disabled');
    if (order === 'newest') return await load(signal, undefined, cursor);
    if (cursor.startsWith(OTHERS))
      return othersPage(await load(signal, 'false', cursor.slice(OTHERS.length)));
    const failing = await load(signal, 'true', cursor);
    if (failing.next_cursor !== null) return failing;
    const others = othersPage(await load(signal, 'false', ''));
    return { ...others, data: [...failing.data, ...others.data] };
  });
  // One that begins to fail, or recovers, while the list is read is in both parts of it.
  const rows =
    pages.rows && [...new Map(pages.rows.toReversed().map((row) => [row.id, row])).values()].toReversed();
  return { ...pages, rows };
}

type Failing = 'true' | 'false';

/** Before the cursors of those that do not fail. */
const OTHERS = 'others:';

function othersPage<Of extends { readonly next_cursor: string | null }>(page: Of): Of {
  return { ...page, next_cursor: page.next_cursor === null ? null : OTHERS + page.next_cursor };
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
