import { z } from 'zod';
import { formatTime, timeSchema } from '../platform/clock';
import { textSchema } from '../platform/zod-words';
import { type Act, auditActorSchema } from './audit';

/** Why an operator pauses something, for people: 1 to 300 characters, without the white space around them. */
export const pauseReasonSchema = textSchema(300).regex(/\S/, 'must not be empty').trim();

/** The pause of an account or a queue as it is stored. */
export const pauseSchema = z.object({
  /** Milliseconds since the Unix epoch. */
  at: z.number(),
  /** Absent: none was given. */
  reason: z.string().optional(),
  by: auditActorSchema,
});
export type Pause = Readonly<z.infer<typeof pauseSchema>>;

export const pauseViewSchema = z
  .object({
    paused_at: timeSchema.describe('When it was paused.'),
    reason: z.string().nullable().describe('Why, in the words of who paused it. Null: no reason was given.'),
    by: auditActorSchema.describe('Who paused it.'),
  })
  .meta({ id: 'Pause' });

export function pauseOf({ at, actor: by }: Act, reason: string | undefined): Pause {
  return { at, by, ...(reason === undefined ? {} : { reason }) };
}

/** As the API and the command line show it. */
export function presentPause({ at, reason, by }: Pause): z.infer<typeof pauseViewSchema> {
  return { paused_at: formatTime(at), reason: reason ?? null, by };
}

export function presentPauseOrNull(pause: Pause | undefined): z.infer<typeof pauseViewSchema> | null {
  return pause ? presentPause(pause) : null;
}
