import { z } from 'zod';

/**
 * A text of at most so many characters, counted as JSON Schema counts them: by code points, of which JavaScript's `length`
 * sees some as two.
 */
export function textSchema(most: number) {
  return z
    .string()
    .refine((text) => isWithin(text, most), `must have at most ${most} characters`)
    .meta({ maxLength: most });
}

function isWithin(text: string, most: number): boolean {
  return text.length <= most || (text.length <= 2 * most && Array.from(text).length <= most);
}
