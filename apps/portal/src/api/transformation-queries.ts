import type { components } from '@hookferry/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useApi } from './api-context';
import { ask } from './ask';
import { queryKeys } from './query-keys';

type Schemas = components['schemas'];
export type Transformation = Schemas['Transformation'];
export type TransformationVersion = Schemas['TransformationVersion'];
export type Tried = Schemas['TransformationTried'];

/** The code that a webhook has. @param version as the webhook tells it; undefined: it has none */
export function useTransformation(webhookId: string, version: number | undefined) {
  const api = useApi();
  return useQuery({
    enabled: version !== undefined,
    queryKey: queryKeys.transformation(webhookId, version),
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/webhooks/{id}/transformation', { params: { path: { id: webhookId } }, signal })),
  });
}

/** The last ones, the newest first; those of code that was removed too. @param version the one in force */
export function useVersions(webhookId: string, version: number | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: queryKeys.transformationVersions(webhookId, version),
    queryFn: async ({ signal }) => {
      const params = { path: { id: webhookId } };
      return (await ask(api.GET('/v1/webhooks/{id}/transformation/versions', { params, signal }))).data;
    },
  });
}

export function useTemplates() {
  const api = useApi();
  return useQuery({
    queryKey: queryKeys.transformationTemplates(),
    queryFn: async ({ signal }) => (await ask(api.GET('/v1/transformations/templates', { signal }))).data,
  });
}

export type TransformationChange =
  | { readonly kind: 'put'; readonly code: string; readonly enabled: boolean }
  | { readonly kind: 'restore'; readonly version: number }
  | { readonly kind: 'remove' };

/** Gives the transformation as it is then; undefined: there is none any more. */
export function useChangeTransformation(webhookId: string) {
  const api = useApi();
  const queries = useQueryClient();
  const path = { id: webhookId };
  return useMutation({
    mutationFn: async (change: TransformationChange): Promise<Transformation | undefined> => {
      if (change.kind === 'put') {
        const { code, enabled } = change;
        const body = { code, enabled };
        return await ask(api.PUT('/v1/webhooks/{id}/transformation', { params: { path }, body }));
      }
      if (change.kind === 'restore') {
        const params = { path: { ...path, version: change.version } };
        return await ask(api.POST('/v1/webhooks/{id}/transformation/versions/{version}/restore', { params }));
      }
      await ask(api.DELETE('/v1/webhooks/{id}/transformation', { params: { path } }));
      return undefined;
    },
    onSuccess: async (now) => {
      if (now) queries.setQueryData(queryKeys.transformation(webhookId, now.version), now);
      await queries.invalidateQueries({ queryKey: queryKeys.webhook(webhookId) });
    },
  });
}

export function useTryTransformation(webhookId: string) {
  const api = useApi();
  return useMutation({
    mutationFn: (body: Schemas['TransformationTrial']) =>
      ask(api.POST('/v1/webhooks/{id}/transformation/try', { params: { path: { id: webhookId } }, body })),
  });
}
