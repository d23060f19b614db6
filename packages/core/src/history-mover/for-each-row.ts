import { isDataError } from '../platform/redis-script';

/**
 * Run something for each of many rows at once. On one server, `atomic` sends the steps of all of them along with each other.
 * The rows know nothing of each other: one whose data makes a script fail gives its error.
 *
 * @throws an error when Redis is away, once nothing is on its way any more. Some rows may be done then, and others not.
 */
export async function forEachRow<Row, Result>(
  rows: readonly Row[],
  run: (row: Row) => Promise<Result>,
): Promise<readonly (Result | Error)[]> {
  const settled = await Promise.allSettled(rows.map(run));
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : errorOfRow(one.reason)));
}

// A key of an unexpected type must not stop all others.
function errorOfRow(error: unknown): Error {
  if (error instanceof Error && isDataError(error)) return error;
  throw error;
}
