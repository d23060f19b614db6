import { z } from 'zod';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^([0-9]{1,9})(ms|s|m|h|d)$/;

const SENT = 'must be a duration such as 250ms, 15s, 5m, 2h or 3d';

/** `250ms`, `15s`, `5m`, `2h`, `3d` as milliseconds; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text.trim());
  if (!match) return undefined;
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}

/** Milliseconds in the largest unit that needs no fraction: `300000` gives `5m`. */
export function formatDuration(ms: number): string {
  const units = Object.entries(UNIT_MS).reverse();
  const [unit, unitMs] = (ms > 0 && units.find(([, each]) => ms % each === 0)) || ['s', UNIT_MS.s];
  return `${ms / unitMs}${unit}`;
}

/** A text with a duration; the parsed value is in milliseconds. */
export const durationSchema = z.string().transform((text, context) => toMilliseconds(text, context));

/**
 * A duration from a client: without the surrounding white space that settings may have. Parsed values are in
 * milliseconds.
 */
export const sentDurationSchema = z.string({ error: SENT }).regex(DURATION, SENT).pipe(durationSchema);

/** The same, but not `0s`: for settings that 0 would make useless. */
export const positiveDurationSchema = durationSchema.refine((ms) => ms > 0, 'must be more than 0s');

/** A duration, or `never`. */
export const durationOrNeverSchema = z
  .string()
  .transform((text, context) =>
    text.trim() === 'never' ? ('never' as const) : toMilliseconds(text, context, ', or never'),
  );

/** Durations separated by commas, such as `5s,5m,30m`; parsed values are in milliseconds. */
export const durationListSchema = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(durationSchema).min(1));

function toMilliseconds(text: string, context: z.RefinementCtx, orElse = ''): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  context.addIssue({
    code: 'custom',
    message: `"${text}" is not a duration such as 250ms, 15s, 5m, 2h or 3d${orElse}`,
  });
  return z.NEVER;
}

/** The most of something within a window of time. */
export interface Allowance {
  readonly count: number;
  readonly windowMs: number;
}

const SECOND_MS = 1_000;
const MAX_COUNT = 1_000_000_000;
const ALLOWANCE = /^(\d{1,10})\/(\w+)$/;

/** `1000/1s`, `20/1m`: a number in a time of whole seconds. `off` is no limit, parsed as `undefined`. */
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
