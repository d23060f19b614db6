import type { AnyInit } from './call';
import type { Page } from './call-types';

/** The items of all pages. @param askFor gives a page */
export async function* paginate<I>(
  askFor: (init: AnyInit) => Promise<Page<I>>,
  init: AnyInit = {},
): AsyncGenerator<I, void, undefined> {
  let cursor: string | null | undefined;
  do {
    const { params = {} } = init;
    const query = { ...params.query, ...(cursor === undefined ? {} : { cursor }) };
    const page = await askFor({ ...init, params: { ...params, query } });
    yield* page.data;
    cursor = page.next_cursor;
  } while (typeof cursor === 'string');
}
