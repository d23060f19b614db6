import { chunksOf } from '../../platform/batches';
import { isOwnDataError } from '../../platform/redis-script';

// What waits for a reply lives through several collections of garbage: with thousands of rows at once, those take as long
// as all of the rest.
const ROWS_AT_ONCE = 250;

/**
 * Run something for each of many rows. On one server, `atomic` sends the steps of all of them together. The rows
 * know nothing of each other: one whose data makes a script fail gives its error.
 *
 * @throws an error when Redis is away, once nothing is on its way any more. Some rows may be done then, and others not.
 */
export async function forEachRow<Row, Result>(
  rows: readonly Row[],
  run: (row: Row) => Promise<Result>,
): Promise<readonly (Result | Error)[]> {
  const results: (Result | Error)[] = [];
  for (const some of chunksOf(rows, ROWS_AT_ONCE)) {
    const settled = await Promise.allSettled(some.map(run));
    for (const one of settled) {
      results.push(one.status === 'fulfilled' ? one.value : errorOfRow(one.reason));
    }
  }
  return results;
}

/** The same with a step that does all of some rows. */
export async function forAllRows<Row, Result>(
  rows: readonly Row[],
  run: (some: readonly Row[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const some of chunksOf(rows, ROWS_AT_ONCE)) results.push(...(await run(some)));
  return results;
}

// A key of an unexpected type must not stop all others.
function errorOfRow(error: unknown): Error {
  if (isOwnDataError(error)) return error;
  throw error;
}
