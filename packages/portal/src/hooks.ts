import type { Change, ChangesQuery, components, Data, Item } from '@hookferry/client';
import {
  createElement,
  type ReactElement,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { createPortalClient, type PortalSessionInfo, type SessionSource } from './client.ts';
import {
  ClientContext,
  type Loaded,
  type LoadedPages,
  type Query,
  useLoaded,
  usePages,
  usePortalClient,
} from './load.ts';
import { linkFrom } from './session-link.ts';

export type { PortalSessionInfo, SessionSource } from './client.ts';
export { type Loaded, type LoadedPages, usePortalClient } from './load.ts';

type Schemas = components['schemas'];

export interface PortalSessionProps {
  /** The address of the service, such as `https://hooks.example.com`. Another one is another session. */
  readonly baseUrl: string;
  /** Where new links come from. It may be another function at each rendering. */
  readonly session: SessionSource;
  readonly children?: ReactNode;
}

/** The session of the hooks below it. It is opened by the first call. */
export function PortalSession({ baseUrl, session, children }: PortalSessionProps): ReactElement {
  const latest = useRef(session);
  useEffect(() => {
    latest.current = session;
  });
  const client = useMemo(
    () => createPortalClient({ baseUrl, session: () => linkFrom(latest.current) }),
    [baseUrl],
  );
  return createElement(ClientContext.Provider, { value: client }, children);
}

/** What the session may do (`capabilities`), for which account, and until when. */
export function usePortalSession(): Loaded<PortalSessionInfo> {
  return useLoaded('session', (client) => client.session());
}

/** The webhooks of the account. */
export function useWebhooks(query: Query<'/v1/webhooks'> = {}): LoadedPages<Item<'/v1/webhooks'>> {
  return usePages('/v1/webhooks', query);
}

/** One webhook, with its health. @param id its id or `uid` */
export function useWebhook(id: string): Loaded<Data<'/v1/webhooks/{id}', 'get'>> {
  return useLoaded(`webhook ${id}`, (client, signal) =>
    client.GET('/v1/webhooks/{id}', { params: { path: { id } }, signal }),
  );
}

/** Deliveries, the newest first. */
export function useDeliveries(query: Query<'/v1/deliveries'> = {}): LoadedPages<Item<'/v1/deliveries'>> {
  return usePages('/v1/deliveries', query);
}

/** One delivery, with its attempts. */
export function useDelivery(id: string): Loaded<Data<'/v1/deliveries/{id}', 'get'>> {
  return useLoaded(`delivery ${id}`, (client, signal) =>
    client.GET('/v1/deliveries/{id}', { params: { path: { id } }, signal }),
  );
}

/** The event types that webhooks can ask for. */
export function useEventTypes(query: Query<'/v1/event-types'> = {}): LoadedPages<Item<'/v1/event-types'>> {
  return usePages('/v1/event-types', query);
}

export type Ending<Result> =
  | { readonly isDone: true; readonly data: Result }
  | { readonly isDone: false; readonly error: Error };

export interface Action<Input, Result> {
  /** Resolves with the result, also if that is an error: it never rejects. */
  readonly run: (input: Input) => Promise<Ending<Result>>;
  readonly isRunning: boolean;
  /** Why the last run failed. A `WebhooksApiError` names the members that are wrong in `errors`. */
  readonly error: Error | undefined;
}

/** Creates a webhook. The result has its `secret`: show it, no other response has it. Needs the capability `webhooks`. */
export function useCreateWebhook(): Action<Schemas['NewWebhook'], Schemas['CreatedWebhook']> {
  const client = usePortalClient();
  return useAction((body) => client.POST('/v1/webhooks', { body }));
}

/** Changes members of a webhook. Needs the capability `webhooks`. */
export function useUpdateWebhook(
  id: string,
): Action<Schemas['WebhookPatch'], Data<'/v1/webhooks/{id}', 'patch'>> {
  const client = usePortalClient();
  return useAction((body) => client.PATCH('/v1/webhooks/{id}', { params: { path: { id } }, body }));
}

/** Deletes a webhook, by its id. Needs the capability `webhooks`. */
export function useDeleteWebhook(): Action<string, undefined> {
  const client = usePortalClient();
  return useAction((id) => client.DELETE('/v1/webhooks/{id}', { params: { path: { id } } }));
}

/** Sends a delivery once more, by its id. Needs the capability `redeliver`. */
export function useRedeliver(): Action<string, Data<'/v1/deliveries/{id}/redeliver', 'post'>> {
  const client = usePortalClient();
  return useAction((id) => client.POST('/v1/deliveries/{id}/redeliver', { params: { path: { id } } }));
}

/**
 * Calls back with each change, within moments: reload then, or change the data that you hold. It connects again by itself. After
 * the first one, `ready`, none is missing: reload then, too.
 *
 * @returns why it has ended, if it has
 */
export function useChanges(listener: (change: Change) => void, query: ChangesQuery = {}): Error | undefined {
  const client = usePortalClient();
  const key = JSON.stringify(query);
  const [failure, setFailure] = useState<{ readonly key: string; readonly error: Error }>();
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    const end = new AbortController();
    const changes = client.streamChanges(JSON.parse(key) as ChangesQuery, { signal: end.signal });
    follow(changes, (change) => latest.current(change)).catch((reason: unknown) => {
      if (!end.signal.aborted) setFailure({ key, error: errorOf(reason) });
    });
    return () => end.abort();
  }, [client, key]);
  return failure?.key === key ? failure.error : undefined;
}

async function follow(changes: AsyncIterable<Change>, listener: (change: Change) => void): Promise<void> {
  for await (const change of changes) listener(change);
}

function useAction<Input, Result>(act: (input: Input) => Promise<Result>): Action<Input, Result> {
  const [state, setState] = useState<Omit<Action<Input, Result>, 'run'>>({
    isRunning: false,
    error: undefined,
  });
  return {
    ...state,
    run: async (input) => {
      setState({ isRunning: true, error: undefined });
      try {
        const data = await act(input);
        setState({ isRunning: false, error: undefined });
        return { isDone: true, data };
      } catch (reason) {
        const error = errorOf(reason);
        setState({ isRunning: false, error });
        return { isDone: false, error };
      }
    },
  };
}

function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
