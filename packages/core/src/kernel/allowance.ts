import { z } from 'zod';
import { durationSchema } from './duration';

/** How much of something may happen within a window of time. */
export interface Allowance {
  readonly count: number;
  readonly windowMs: number;
}

const SECOND_MS = 1_000;
const MAX_COUNT = 1_000_000_000;
const ALLOWANCE = /^(\d{1,10})\/(\w+)$/;

/** `1000/1s`, `20/1m`: so many within so long, in whole seconds. `off` is no limit, `undefined` inside. */
export const allowanceSchema = z.string().transform((text, context): Allowance | undefined => {
  if (text === 'off') return undefined;
  const [, count, duration] = ALLOWANCE.exec(text) ?? [];
  const allowance = { count: Number(count), windowMs: durationSchema.safeParse(duration).data ?? 0 };
  if (isUsable(allowance)) return allowance;
  context.addIssue({
    code: 'custom',
    message: `"${text}" is not a limit such as 1000/1s or 20/1m (a number of at least 1, whole seconds), or off`,
  });
  return z.NEVER;
});

/** As much for an account as for each of its keys. */
export const SAME_AS_KEY = 'same';

/** The same, or `same`. */
export const accountAllowanceSchema = z.string().transform((text, context) => {
  if (text === SAME_AS_KEY) return SAME_AS_KEY;
  const parsed = allowanceSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  for (const { message } of parsed.error.issues) context.addIssue(`${message}, or ${SAME_AS_KEY}`);
  return z.NEVER;
});

function isUsable({ count, windowMs }: Allowance): boolean {
  return count >= 1 && count <= MAX_COUNT && windowMs >= SECOND_MS && windowMs % SECOND_MS === 0;
}
