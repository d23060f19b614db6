import type { components } from '@hookferry/client';
import { type QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import type { Api } from './client';
import { queryKeys } from './query-keys';
import { usePages } from './use-pages';

export type Contact = components['schemas']['Contact'];
export type NewContact = components['schemas']['NewContact'];
export type ContactPatch = components['schemas']['ContactPatch'];
export type Occasion = components['schemas']['Occasion'];
export type Notification = components['schemas']['Notification'];

/** How late the page sees that somebody has confirmed. */
const CONFIRMED_WITHIN_MS = 5_000;

/** All of the account: there are few. */
export function useContacts() {
  return useQuery({
    ...allContacts(useApi()),
    refetchInterval: ({ state }) =>
      state.data?.some(({ status }) => status === 'unconfirmed') ? CONFIRMED_WITHIN_MS : false,
  });
}

export function allContacts(api: Api) {
  return queryOptions({
    queryKey: queryKeys.contacts(),
    // They confirm elsewhere, and no stream tells of that.
    staleTime: 0,
    queryFn: async ({ signal }) => (await ask(api.GET('/v1/contacts', { signal }))).data,
  });
}

export function useCreateContact() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: NewContact) => ask(api.POST('/v1/contacts', { body })),
    onSuccess: () => refresh(queries),
  });
}

export function useUpdateContact(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: ContactPatch) =>
      ask(api.PATCH('/v1/contacts/{id}', { params: { path: { id } }, body })),
    onSuccess: () => refresh(queries),
  });
}

export function useAskContactAgain() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => ask(api.POST('/v1/contacts/{id}/ask-again', { params: { path: { id } } })),
    onSuccess: () => refresh(queries),
  });
}

export function useTestContact() {
  const api = useApi();
  return useMutation({
    mutationFn: (id: string) => ask(api.POST('/v1/contacts/{id}/test', { params: { path: { id } } })),
  });
}

export function useDeleteContact(id: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => ask(api.DELETE('/v1/contacts/{id}', { params: { path: { id } } })),
    onSuccess: () => refresh(queries),
  });
}

export interface NotificationFilters {
  readonly contact_id?: string;
  readonly topic?: Notification['topic'];
  readonly status?: Notification['status'];
}

const PAGE_SIZE = 50;

/** The messages to contacts, the newest first, as far as they were paged to. */
export function useNotifications(filters: NotificationFilters) {
  const api = useApi();
  return usePages(queryKeys.notifications(filters), (paging, signal) => {
    const query = { ...filters, limit: PAGE_SIZE, ...paging };
    return ask(api.GET('/v1/notifications', { params: { query }, signal }));
  });
}

async function refresh(queries: QueryClient): Promise<void> {
  await queries.invalidateQueries({ queryKey: queryKeys.contacts() });
}
