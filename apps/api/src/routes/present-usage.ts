import type { AccountUsage } from '@hookferry/core/model/usage';
import { z } from 'zod';

const bytes = z.int().min(0);

const storedBytesSchema = z
  .object({ events: bytes, deliveries: bytes, answers: bytes, replays: bytes, portal_sessions: bytes })
  .describe(
    'Of those, what goes by itself with time. `answers` are those to requests with an `Idempotency-Key`.',
  )
  .meta({ id: 'StoredBytes' });

export const usageSchema = z
  .object({
    used_bytes: bytes.describe('About as much as it takes up in the store: see "What counts" in the docs.'),
    quota_bytes: bytes.nullable().describe('How much it may be; `null`: as much as there is room for.'),
    bytes: storedBytesSchema,
    events: z.int().describe("In the account's list."),
    webhooks: z.int(),
    api_keys: z.int(),
  })
  .meta({ id: 'AccountUsage' });

function presentBytes({ sessions, ...others }: AccountUsage['bytes']): z.infer<typeof storedBytesSchema> {
  return { ...others, portal_sessions: sessions };
}

/** How much an account stores, and how much it may. */
export function presentUsage(usage: AccountUsage): z.infer<typeof usageSchema> {
  return {
    used_bytes: usage.usedBytes,
    quota_bytes: usage.quotaBytes ?? null,
    bytes: presentBytes(usage.bytes),
    events: usage.events,
    webhooks: usage.webhooks,
    api_keys: usage.apiKeys,
  };
}
