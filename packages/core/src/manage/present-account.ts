import { z } from 'zod';
import { formatTime, timeSchema } from '../kernel/clock';
import type { Account } from '../model/account';
import type { Remains } from './redis-remains-store';

const erasureSchema = z
  .object({
    requested_at: timeSchema,
    webhooks_left: z.int().optional(),
    events_left: z.int().optional(),
  })
  .meta({ id: 'Erasure' });

export const accountViewSchema = z
  .object({
    id: z.string(),
    name: z.string().optional(),
    weight: z.int(),
    quota_bytes: z
      .int()
      .optional()
      .describe('How much it may store, if that was set for it; 0: as much as there is room for.'),
    status: z.enum(['active', 'erasing']),
    created_at: timeSchema,
    erasure: erasureSchema.optional().meta({
      description: 'While it is being erased. How much is left is counted when the account is read alone.',
    }),
  })
  .meta({ id: 'Account' });

interface AccountWithRemains extends Account {
  /** How much is left of it, if that was counted. */
  readonly remains?: Remains | undefined;
}

/** An account as the API and the command line show it. */
export function presentAccount({
  id,
  name,
  weight = 1,
  quotaBytes,
  createdAt,
  erasingSince,
  remains,
}: AccountWithRemains): z.infer<typeof accountViewSchema> {
  return {
    id,
    ...(name === undefined ? {} : { name }),
    weight,
    ...(quotaBytes === undefined ? {} : { quota_bytes: quotaBytes }),
    status: erasingSince === undefined ? 'active' : 'erasing',
    created_at: formatTime(createdAt),
    ...(erasingSince === undefined ? {} : { erasure: presentErasure(erasingSince, remains) }),
  };
}

function presentErasure(erasingSince: number, remains: Remains | undefined) {
  return {
    requested_at: formatTime(erasingSince),
    ...(remains === undefined ? {} : { webhooks_left: remains.endpoints, events_left: remains.events }),
  };
}
