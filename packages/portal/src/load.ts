import type { Item, ListPath, paths } from '@hookferry/client';
import { createContext, useCallback, useContext, useEffect, useRef, useState } from 'react';
import type { PortalClient } from './client.ts';

export const ClientContext = createContext<PortalClient | undefined>(undefined);

/** The client of the `PortalSession` around, for every other call of the API. @throws Error outside of one */
export function usePortalClient(): PortalClient {
  const client = useContext(ClientContext);
  if (!client) throw new Error('Put a <PortalSession> around the components that use these hooks.');
  return client;
}

/** One thing, as it was last read. */
export interface Loaded<T> {
  /** Undefined until it was read once. It stays while it is read again. */
  readonly data: T | undefined;
  /** Why the last reading failed. */
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  /** Reads again. */
  readonly reload: () => void;
}

/** A list, as far as it was read. */
export interface LoadedPages<T> extends Omit<Loaded<T>, 'data'> {
  /** Undefined until the first page was read. */
  readonly items: readonly T[] | undefined;
  readonly hasMore: boolean;
  /** Reads the next page; nothing while a page is being read. */
  readonly loadMore: () => void;
}

interface Reading<T> {
  /** What was asked for. */
  readonly key: string;
  readonly data?: T | undefined;
  readonly error?: Error | undefined;
  readonly isLoading: boolean;
}

type Read<T> = (client: PortalClient, signal: AbortSignal, former: T | undefined) => Promise<T>;

/**
 * Reads when it is first used, and when the key is another one. What was read for another key is not shown.
 *
 * @returns beside it, a function that reads on from what is there
 */
function useReading<T>(key: string, read: Read<T>): Reading<T> & { readonly run: (goesOn: boolean) => void } {
  const client = usePortalClient();
  const [reading, setReading] = useState<Reading<T>>({ key, isLoading: true });
  const latest = useRef({ read, reading });
  useEffect(() => {
    latest.current = { read, reading };
  });
  const running = useRef<AbortController>(undefined);

  const run = useCallback(
    async (former: T | undefined) => {
      running.current?.abort();
      const end = new AbortController();
      running.current = end;
      const keep = (state: Partial<Reading<T>>) => {
        if (end.signal.aborted) return;
        setReading((before) => ({ ...(before.key === key ? before : {}), key, isLoading: false, ...state }));
      };
      keep({ isLoading: true });
      try {
        keep({ data: await latest.current.read(client, end.signal, former), error: undefined });
      } catch (error) {
        keep({ error: error instanceof Error ? error : new Error(String(error)) });
      }
    },
    [client, key],
  );

  useEffect(() => {
    void run(undefined);
    return () => running.current?.abort();
  }, [run]);

  const current: Reading<T> = reading.key === key ? reading : { key, isLoading: true };
  return { ...current, run: (goesOn) => void run(goesOn ? latest.current.reading.data : undefined) };
}

export function useLoaded<T>(key: string, read: Read<T>): Loaded<T> {
  const { data, error, isLoading, run } = useReading(key, read);
  return { data, error, isLoading, reload: () => run(false) };
}

export type Query<P extends ListPath> = Omit<
  NonNullable<paths[P]['get'] extends { parameters: { query?: infer Q } } ? Q : never>,
  'cursor'
>;

interface Pages<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

export function usePages<P extends ListPath>(path: P, query: Query<P>): LoadedPages<Item<P>> {
  const key = `${path} ${JSON.stringify(query)}`;
  const { data, error, isLoading, run } = useReading<Pages<Item<P>>>(key, async (client, signal, former) => {
    const cursor = former?.next;
    // The type of one path does not say that it is one of a list, which all of `ListPath` are.
    const get = client.GET as unknown as GetPage<Item<P>>;
    const page = await get(path, { params: { query: { ...query, ...(cursor ? { cursor } : {}) } }, signal });
    return { items: [...(former?.items ?? []), ...page.data], next: page.next_cursor };
  });
  const hasMore = typeof data?.next === 'string';
  const loadMore = () => {
    if (hasMore && !isLoading) run(true);
  };
  return { items: data?.items, error, isLoading, hasMore, loadMore, reload: () => run(false) };
}

type GetPage<T> = (
  path: string,
  init: { readonly params: { readonly query: object }; readonly signal: AbortSignal },
) => Promise<{ readonly data: readonly T[]; readonly next_cursor: string | null }>;
