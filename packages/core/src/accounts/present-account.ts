import { z } from 'zod';
import { formatTime, timeSchema } from '../runtime/clock';
import type { Account } from './account';

export const accountViewSchema = z
  .object({ id: z.string(), name: z.string().optional(), created_at: timeSchema })
  .meta({ id: 'Account' });

/** An account as the API and the command line show it. */
export function presentAccount({ id, name, createdAt }: Account): z.infer<typeof accountViewSchema> {
  return { id, ...(name === undefined ? {} : { name }), created_at: formatTime(createdAt) };
}
