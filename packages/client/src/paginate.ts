import type { AnyInit } from './call';
import type { Page } from './call-types';

export interface PaginateOptions {
  /**
   * Called when the older part of the list is not reachable at the moment: the list ends there then. Without it
   * the rest is asked for all the same, and the error `history_unavailable` thrown while it stays away.
   */
  readonly onHistoryUnavailable?: () => void;
}

/** The items of all pages. @param askFor gives a page */
export async function* paginate<I>(
  askFor: (init: AnyInit) => Promise<Page<I>>,
  { onHistoryUnavailable, ...init }: AnyInit & PaginateOptions = {},
): AsyncGenerator<I, void, undefined> {
  let cursor: string | null | undefined;
  do {
    const { params = {} } = init;
    const query = { ...params.query, ...(cursor === undefined ? {} : { cursor }) };
    const page = await askFor({ ...init, params: { ...params, query } });
    yield* page.data;
    if (page.history === 'unavailable' && onHistoryUnavailable) return onHistoryUnavailable();
    cursor = page.next_cursor;
  } while (typeof cursor === 'string');
}
