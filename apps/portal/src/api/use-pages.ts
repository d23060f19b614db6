import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';

interface Page<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

/** A list of the API, read page by page as far as it is looked at. `load` gets the cursor of the page that is wanted. */
export function usePages<Row>(
  queryKey: QueryKey,
  load: (paging: { readonly cursor?: string }, signal: AbortSignal) => Promise<Page<Row>>,
) {
  const query = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => load(pageParam === undefined ? {} : { cursor: pageParam }, signal),
    getNextPageParam: ({ next_cursor: cursor }) => cursor,
  });
  return {
    /** undefined: they are being loaded. */
    rows: query.data?.pages.flatMap(({ data }) => data),
    error: query.error,
    refetch: () => void query.refetch(),
    fetchMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
    },
  };
}
