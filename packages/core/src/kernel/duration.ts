import { z } from 'zod';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^([0-9]{1,9})(ms|s|m|h|d)$/;

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

/** A text that holds a duration; the value inside is in milliseconds. */
export const durationSchema = z.string().transform((text, context) => toMilliseconds(text, context));

/**
 * A duration as clients send it: without white space around it, which settings may have. The values inside are in
 * milliseconds.
 */
export const sentDurationSchema = z
  .string()
  .regex(DURATION, 'must be a duration such as 250ms, 15s, 5m, 2h or 3d')
  .pipe(durationSchema);

/** The same, but not `0s`: for what would come to nothing. */
export const positiveDurationSchema = durationSchema.refine((ms) => ms > 0, 'must be more than 0s');

/** A duration, or `never`. */
export const durationOrNeverSchema = z
  .string()
  .transform((text, context) =>
    text.trim() === 'never' ? ('never' as const) : toMilliseconds(text, context, ', or never'),
  );

/** Durations separated by commas, such as `5s,5m,30m`; the values inside are in milliseconds. */
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
