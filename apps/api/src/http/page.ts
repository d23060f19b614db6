import { eventIdSchema } from '@hookferry/core/domain/event';
import { countListed, PATTERN_BOUNDS } from '@hookferry/core/history/json-containment';
import { formatTimeOrNull, sentTimeSchema, timeSchema } from '@hookferry/core/platform/clock';
import { depthOf, parsedOrUndefined } from '@hookferry/core/platform/json';
import { z } from 'zod';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const DIGITS = /^-?[0-9]+$/;

/** The size of a page, as a query parameter. */
export function limitSchema(most: number) {
  return wholeNumberSchema(1, most);
}

/** A number as a query parameter. */
export function wholeNumberSchema(least: number, most: number) {
  const message = `must be a whole number from ${least} to ${most}`;
  return z.preprocess(numberIn, z.int(message).min(least, message).max(most, message));
}

// `Number` would also read "0x10", "1e2" and "", and the description promises a whole number.
function numberIn(text: unknown): unknown {
  return typeof text === 'string' && DIGITS.test(text) ? Number(text) : text;
}

/** The query parameters of every list. */
export function pageQuery<Cursor extends z.ZodType>(cursor: Cursor) {
  return z.strictObject({
    limit: limitSchema(MAX_LIMIT)
      .default(DEFAULT_LIMIT)
      .describe(`How many items the page has at most: 1 to ${MAX_LIMIT}. Default: ${DEFAULT_LIMIT}.`),
    cursor: cursorSchema(cursor, 'must be the "next_cursor" of the page before')
      .optional()
      .describe('The `next_cursor` of the page before. Default: the list starts at its first item.'),
  });
}

/**
 * The result of `presentPage` for such items. Its name is that of its schema in the description, and of
 * generated types.
 */
export function pageOf<Item extends z.ZodType>(item: Item, name: `${string}Page`) {
  return z
    .object({
      data: z.array(item).readonly().describe('The items of this page, in the order of the list.'),
      next_cursor: z
        .string()
        .nullable()
        .describe('Pass it as `cursor` to get the next page. Null on the last page.'),
      has_more: z.boolean().describe('Whether there is a next page.'),
    })
    .meta({ id: name });
}

/** The form of every list: `data`, and the cursor of the next page. */
export function presentPage<Item>(data: readonly Item[], nextCursor: unknown) {
  return {
    data,
    next_cursor: nextCursor === undefined ? null : encodeCursor(nextCursor),
    has_more: nextCursor !== undefined,
  };
}

/** The result of `presentHistoryPage` for such items. */
export function historyPageOf<Item extends z.ZodType>(item: Item, name: `${string}Page`) {
  return pageOf(item, name)
    .extend({
      oldest_searched_at: timeSchema
        .nullable()
        .describe(
          'The list was searched back to items that were accepted at this time. With filters, a page ends after a bounded search: it may be short, or empty, although `has_more` is true. Null: there is no next page, or the order of the list is not that of time.',
        ),
      history: z
        .literal('unavailable')
        .nullable()
        .describe(
          '`unavailable`: the list has older items that cannot be read at the moment, because PostgreSQL is not reachable. Null: it is whole.',
        ),
    })
    .meta({ id: name });
}

interface HistoryPart {
  readonly nextCursor: unknown;
  /** Of the last item that was looked at. Milliseconds since the Unix epoch. Absent: it was the last one of all. */
  readonly searchedBackTo?: number | undefined;
  readonly isCutShort?: true;
}

/** The form of lists of past records. */
export function presentHistoryPage(
  data: readonly unknown[],
  { nextCursor, searchedBackTo, isCutShort }: HistoryPart,
) {
  const page = { ...presentPage(data, nextCursor), oldest_searched_at: formatTimeOrNull(searchedBackTo) };
  return { ...page, history: isCutShort ? 'unavailable' : null };
}

const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** A cursor in a list as clients send it back: opaque to them; inside it has the form of `schema`. */
export function cursorSchema<Cursor extends z.ZodType>(schema: Cursor, message: string) {
  return z
    .string()
    .regex(BASE64URL, message)
    .transform((text, context) => {
      const parsed = schema.safeParse(parsedOrUndefined(Buffer.from(text, 'base64url').toString()));
      if (parsed.success) return parsed.data;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    });
}

export function encodeCursor(cursor: unknown): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/**
 * The query parameters that limit lists to a time: from `since` on, and before `until`.
 *
 * @param what what the time is of, in the plural and with its verb: "events that were accepted".
 */
export function timeRangeQuery(what: string) {
  return {
    since: sentTimeSchema.optional().describe(`Only ${what} at this time or later. Default: no lower limit.`),
    until: sentTimeSchema.optional().describe(`Only ${what} before this time. Default: no upper limit.`),
  };
}

interface SentRange {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/**
 * For `refine` of a query with a time range: a range that ends before it begins is an error, not an empty
 * list.
 */
export const isInOrder: [(range: SentRange) => boolean, { path: string[]; message: string }] = [
  ({ since, until }) => since === undefined || until === undefined || since <= until,
  { path: ['until'], message: 'must not be before "since"' },
];

const { bytes: MAX_BYTES, levels: MAX_LEVELS, listed: MAX_LISTED, nested: MAX_NESTED } = PATTERN_BOUNDS;
const IN_LISTS = `at most ${MAX_LISTED} values in its lists, at most ${MAX_NESTED} of them lists or objects`;

/** The query parameter that limits lists to events by what their data contain. Gives its text, which is JSON. */
export const dataQuery = {
  data: z
    .string()
    .refine((text) => Buffer.byteLength(text) <= MAX_BYTES, {
      error: `must be at most ${MAX_BYTES} bytes long`,
      abort: true,
    })
    .refine(isSearched, {
      error: 'must be a JSON object, such as {"order":{"id":4711}}, a number or a text in double quotes',
      abort: true,
    })
    .refine((text) => depthOf(text) <= MAX_LEVELS, {
      error: `must be at most ${MAX_LEVELS} levels deep`,
      abort: true,
    })
    .refine(hasShortLists, `must have ${IN_LISTS}`)
    .meta({
      description: `Only events whose \`data\` contains this JSON object, by the rules of the \`@>\` operator of PostgreSQL. A number or a text in double quotes: events with this value anywhere in \`data\`; a number also finds the text that is written like it. At most ${MAX_BYTES} bytes long and ${MAX_LEVELS} levels deep, with ${IN_LISTS}.`,
      example: '{"order":{"id":4711}}',
    })
    .optional(),
};

function hasShortLists(text: string): boolean {
  const { listed, nested } = countListed(JSON.parse(text));
  return listed <= MAX_LISTED && nested <= MAX_NESTED;
}

function isSearched(text: string): boolean {
  const value = parsedOrUndefined(text);
  if (typeof value === 'string' || typeof value === 'number') return true;
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The cursor at the end of a page of a list in the order of events. */
export const eventCursorSchema = z.object({ createdAt: z.number(), eventId: eventIdSchema });
