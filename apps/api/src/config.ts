import { egressSettings, trustProxySchema } from '@webhooks/core/egress/egress-settings';
import { accountAllowanceSchema, allowanceSchema, SAME_AS_KEY } from '@webhooks/core/kernel/allowance';
import {
  commonSettings,
  flagSchema,
  maxEventBytesSchema,
  portSchema,
} from '@webhooks/core/kernel/common-settings';
import { type Environment, readConfig } from '@webhooks/core/kernel/environment';
import { isProtected, secretsSettings, UNPROTECTED } from '@webhooks/core/kernel/secrets-settings';
import { idOfKey } from '@webhooks/core/model/api-key';
import { z } from 'zod';

const schema = z
  .object({
    ...commonSettings,
    ...egressSettings,
    ...secretsSettings,
    API_HOST: z.string().default('0.0.0.0'),
    API_PORT: portSchema.default(3000),
    BOOTSTRAP_API_KEY: z
      .string()
      .refine(
        (key) => idOfKey(key) !== undefined,
        'must be whk_, 16 of [0-9a-z], _ and at least 32 of [0-9A-Za-z]',
      )
      .optional(),
    /** Webhooks that one account may have. */
    MAX_WEBHOOKS: z.coerce.number().int().min(1).max(100_000).default(500),
    ALLOW_HTTP_URLS: flagSchema.default(false),
    MAX_EVENT_BYTES: maxEventBytesSchema,
    /** Requests and events of one API key, in all processes together. */
    RATE_LIMIT: allowanceSchema.prefault('10000/1s'),
    /** The same of all keys of an account together. */
    ACCOUNT_RATE_LIMIT: accountAllowanceSchema.prefault(SAME_AS_KEY),
    /** Failed authentications of one client address, in each process. */
    AUTH_FAILURE_LIMIT: allowanceSchema.prefault('20/1m'),
    MAX_CONNECTIONS: z.coerce.number().int().min(1).default(10_000),
    /** Whether /openapi.json and /docs are served. */
    DOCS_ENABLED: flagSchema.default(true),
    TRUST_PROXY: trustProxySchema.prefault('off'),
  })
  .refine(isProtected, UNPROTECTED);

export type ApiConfig = z.infer<typeof schema>;

/** @throws ConfigError with one line for each wrong variable. */
export function readApiConfig(environment: Environment): ApiConfig {
  return readConfig(schema, environment);
}
