import { z } from 'zod';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** The query parameters of every list. The cursor is opaque to clients; inside it is what `cursor` describes. */
export function pageQuery<Cursor extends z.ZodType>(cursor: Cursor) {
  return z.strictObject({
    limit: z.coerce
      .number()
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(MAX_LIMIT, `must be at most ${MAX_LIMIT}`)
      .default(DEFAULT_LIMIT),
    cursor: z
      .string()
      .transform((text, context) => {
        const parsed = cursor.safeParse(decode(text));
        if (parsed.success) return parsed.data;
        context.addIssue({ code: 'custom', message: 'must be the next_cursor of a page before' });
        return z.NEVER;
      })
      .optional(),
  });
}

/** What `presentPage` gives of such items. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() });
}

/** The form of every list: `data`, and where the next page starts. */
export function presentPage(data: readonly unknown[], nextCursor: unknown) {
  return {
    data,
    next_cursor: nextCursor === undefined ? null : encode(nextCursor),
    has_more: nextCursor !== undefined,
  };
}

function encode(cursor: unknown): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}
