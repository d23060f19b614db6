import { z } from 'zod';
import { accountIdSchema } from '../events/event';

export const ENDPOINT_ID_PREFIX = 'wh';

export const endpointIdSchema = z
  .string()
  .regex(/^wh_[0-9a-z]{22}$/)
  .brand<'EndpointId'>();
export type EndpointId = z.infer<typeof endpointIdSchema>;

/** Who disabled an endpoint: its owner, or its receiver by answering 410. */
export const disabledReasons = ['client', 'gone'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

/** An endpoint as it is stored: JSON in one field of its account's hash. The API calls it a webhook. */
export const endpointSchema = z.object({
  id: endpointIdSchema,
  accountId: accountIdSchema,
  url: z.string(),
  /** Event type names, prefixes such as `keyword.*`, or `*`. */
  events: z.array(z.string()).readonly(),
  /** A disabled endpoint gets nothing; its deliveries are held until it is enabled. */
  status: z.enum(['enabled', 'disabled']).default('enabled'),
  disabledReason: z.enum(disabledReasons).optional(),
  description: z.string().optional(),
  secret: z.string(),
  /** Milliseconds since the Unix epoch. */
  createdAt: z.number(),
  updatedAt: z.number(),
});
export type Endpoint = Readonly<z.infer<typeof endpointSchema>>;

export function parseEndpoint(raw: string): Endpoint {
  return endpointSchema.parse(JSON.parse(raw));
}
