import { z } from 'zod';
import { cursorSchema, encodeCursor } from './cursor';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const DIGITS = /^-?[0-9]+$/;

/** How many of something, as a query parameter. */
export function limitSchema(most: number) {
  return wholeNumberSchema(1, most);
}

/** A number as a query parameter. */
export function wholeNumberSchema(least: number, most: number) {
  return z.preprocess(
    numberIn,
    z
      .int('must be a whole number')
      .min(least, `must be at least ${least}`)
      .max(most, `must be at most ${most}`),
  );
}

// `Number` would also read "0x10", "1e2" and "", and the description says that it is a whole number.
function numberIn(text: unknown): unknown {
  return typeof text === 'string' && DIGITS.test(text) ? Number(text) : text;
}

/** The query parameters of every list. */
export function pageQuery<Cursor extends z.ZodType>(cursor: Cursor) {
  return z.strictObject({
    limit: limitSchema(MAX_LIMIT).default(DEFAULT_LIMIT),
    cursor: cursorSchema(cursor, 'must be the next_cursor of a page before').optional(),
  });
}

/** What `presentPage` gives of such items. Its name is that of its schema in the description, and of generated types. */
export function pageOf<Item extends z.ZodType>(item: Item, name: `${string}Page`) {
  return z
    .object({ data: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() })
    .meta({ id: name });
}

/** The form of every list: `data`, and where the next page starts. */
export function presentPage(data: readonly unknown[], nextCursor: unknown) {
  return {
    data,
    next_cursor: nextCursor === undefined ? null : encodeCursor(nextCursor),
    has_more: nextCursor !== undefined,
  };
}
