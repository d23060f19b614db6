import { z } from 'zod';

/**
 * A number without a fraction, as large as it likes: what is delivered is the text that came in, so an id or a count
 * beyond 2^53 is neither rounded nor refused.
 */
export function wholeNumber({ min }: { readonly min: number }) {
  return z
    .number()
    .min(min, `must be at least ${min}`)
    .refine(Number.isInteger, 'must be a whole number')
    .meta({ type: 'integer' });
}
