import { parsedOrUndefined } from '@hookferry/core/kernel/json';
import { z } from 'zod';

const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** A place in a list as clients hand it back: opaque to them; inside it is what `schema` describes. */
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
