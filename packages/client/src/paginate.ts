import type { AnyInit } from './call';
import type { Page } from './call-types';

export interface PaginateOptions {
  /**
   * Called when the older part of the list is not reachable at the moment. The list then ends there. Without this option the
   * older part is requested anyway, and `history_unavailable` is thrown while it is not reachable.
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
