import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';

interface HistoryPart {
  readonly history?: 'unavailable' | null;
  /** RFC 3339 */
  readonly oldest_searched_at?: string | null;
}

export interface Page<Row> extends HistoryPart {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

/** A list as far as it was read. */
export interface Pages<Row> {
  /** undefined: they are being loaded. */
  readonly rows: readonly Row[] | undefined;
  readonly error: Error | null;
  readonly refetch: () => void;
  readonly hasMore: boolean;
  /** It ends here for now: what is older is not reachable. */
  readonly isCutShort: boolean;
  /** How far back was looked so far: RFC 3339. */
  readonly searchedTo: string | null | undefined;
  readonly isReadingOn: boolean;
  readonly readOn: () => void;
}

/** A list of the API, read page by page. `load` gets the cursor of a page. */
export function usePages<Row>(
  queryKey: QueryKey,
  load: (paging: { readonly cursor?: string }, signal: AbortSignal) => Promise<Page<Row>>,
): Pages<Row> {
  const query = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => load(pageParam === undefined ? {} : { cursor: pageParam }, signal),
    getNextPageParam: ({ next_cursor: cursor }) => cursor,
  });
  return {
    rows: query.data?.pages.flatMap(({ data }) => data),
    error: query.error,
    refetch: () => void query.refetch(),
    hasMore: query.hasNextPage,
    isCutShort: isCutShort(query.data),
    searchedTo: query.data?.pages.at(-1)?.oldest_searched_at,
    isReadingOn: query.isFetchingNextPage,
    readOn: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
    },
  };
}

/** All pages of a list of the API, one after the other, as far as they are asked for. `load` as for `usePages`. */
export async function* pagesOf<Of extends Page<unknown>>(
  load: (paging: { readonly cursor?: string }) => Promise<Of>,
): AsyncGenerator<Of, void> {
  let cursor: string | null = null;
  do {
    const page: Of = await load(cursor === null ? {} : { cursor });
    yield page;
    cursor = page.next_cursor;
  } while (cursor !== null);
}

/** True if the pages end early because older records can't be read at the moment. */
export function isCutShort(data: { readonly pages: readonly HistoryPart[] } | undefined): boolean {
  return data?.pages.at(-1)?.history === 'unavailable';
}
