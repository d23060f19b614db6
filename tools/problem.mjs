// @ts-check

/**
 * Something that the person at the keyboard can understand and act on. Its message is shown as it is;
 * every other error is a fault of these tools and is shown with its stack.
 */
export class Problem extends Error {
  /** @override */
  name = 'Problem';
}

/**
 * What to show of an error.
 * @param {unknown} error
 */
export function describeError(error) {
  if (error instanceof Problem) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
