import { z } from 'zod';

/** What people call an account or a key. Without control characters, which a terminal would obey. */
export const displayNameSchema = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(100, 'must have at most 100 characters')
  .regex(/^\P{Cc}*$/u, 'must not hold control characters');
