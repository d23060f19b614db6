import { storeSettings } from '@hookferry/core/core/store-settings';
import { cloudEventsSettings } from '@hookferry/core/deliver/cloudevents';
import {
  egressSettings,
  SOURCE_ADDRESSES,
  trustProxySchema,
} from '@hookferry/core/deliver/egress/egress-settings';
import { idOfKey } from '@hookferry/core/domain/account';
import { hasIntakeDatabase, NO_INTAKE_DATABASE } from '@hookferry/core/history/database/history-settings';
import { mailSettings } from '@hookferry/core/notifications/notification-settings';
import {
  accountAllowanceSchema,
  allowanceSchema,
  durationSchema,
  SAME_AS_KEY,
} from '@hookferry/core/platform/duration';
import {
  confirmationSettings,
  deliverySettings,
  type Environment,
  flagSchema,
  isProtected,
  maxEventBytesSchema,
  originSchema,
  portSchema,
  readConfig,
  secretsSettings,
  tracingSettings,
  UNPROTECTED,
} from '@hookferry/core/platform/settings';
import { transformSettings } from '@hookferry/core/transform/transform-settings';
import { z } from 'zod';

const originListSchema = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
  .pipe(z.array(originSchema));

/** Of the portal, which the API serves. */
export const portalSettings = {
  PORTAL: flagSchema
    .default(true)
    .describe('whether the portal, the web pages for customers and operators, is served at `/portal/`'),
  PORTAL_FRAME_ANCESTORS: originListSchema
    .prefault('')
    .describe('origins whose pages may show the portal in a frame, separated by commas; none: no page may'),
  PORTAL_ALLOWED_ORIGINS: originListSchema
    .prefault('')
    .describe(
      'origins whose pages may call the API with the [token of a portal session](portal.md#a-page-of-your-own), separated by commas; none: no page may',
    ),
  PORTAL_SESSION_STORAGE: z
    .enum(['memory', 'tab'])
    .default('memory')
    .describe(
      'where the portal keeps a session: `memory`, so that a page that is loaded again has none, or `tab`, the storage of its browser tab',
    ),
};

/** Of the page that tells customers how to receive webhooks. */
const receiveSettings = {
  RECEIVE_PAGE: flagSchema
    .default(true)
    .describe('whether [Receive our webhooks](receive.md), the page for customers, is served at `/receive`'),
};

/** With their descriptions in docs/configuration.md. */
export const apiSettings = z
  .object({
    ...storeSettings,
    ...confirmationSettings,
    ...secretsSettings,
    ...egressSettings,
    ...transformSettings,
    ...tracingSettings,
    ...cloudEventsSettings,
    ...mailSettings,
    API_HOST: z.string().default('0.0.0.0').describe('the address that it listens at'),
    API_PORT: portSchema.default(3000).describe('its port; `0`: any that is free'),
    BOOTSTRAP_API_KEY: z
      .string()
      .refine(
        (key) => idOfKey(key) !== undefined,
        'must be whk_, 16 of [0-9a-z], _ and at least 32 of [0-9A-Za-z]',
      )
      .optional()
      .describe(
        'an API key with every scope for the account `default`, created at start: `whk_`, 16 of `[0-9a-z]`, `_`, at least 32 of `[0-9A-Za-z]`',
      ),
    MAX_WEBHOOKS: z.coerce
      .number()
      .int()
      .min(1)
      .max(100_000)
      .default(500)
      .describe('webhooks that one account may have'),
    SIGNING_KEY_LEAD: durationSchema
      .prefault('24h')
      .describe('how long a new [key](security.md#signing-keys) is published before it signs'),
    SOURCE_ADDRESSES,
    ALLOW_HTTP_URLS: flagSchema.default(false).describe('whether webhooks may be plain `http:`'),
    MAX_EVENT_BYTES: maxEventBytesSchema,
    RATE_LIMIT: allowanceSchema
      .prefault('10000/1s')
      .describe('requests and events of one API key, over all processes; `off`: no limit'),
    ACCOUNT_RATE_LIMIT: accountAllowanceSchema
      .prefault(SAME_AS_KEY)
      .describe('the same for all keys of an account together; `same`: as much as for one key'),
    AUTH_FAILURE_LIMIT: allowanceSchema
      .prefault('20/1m')
      .describe('failed authentications of one client address, in each process; `off`: no limit'),
    MAX_CONNECTIONS: z.coerce
      .number()
      .int()
      .min(1)
      .default(10_000)
      .describe('connections at the same time, in each process'),
    DRAIN_DELAY: durationSchema
      .prefault('5s')
      .describe('how long it still responds after SIGTERM, with `/readyz` at 503, before it closes'),
    DOCS_ENABLED: flagSchema
      .default(true)
      .describe('whether `/docs` and `/openapi.json`, the description of the API, are served'),
    ...portalSettings,
    ...receiveSettings,
    ...deliverySettings,
    QUEUE_INSPECTOR_ENABLED: flagSchema
      .default(false)
      .describe('whether operators may look into the queues at `/internal/queues`'),
    TRUST_PROXY: trustProxySchema
      .prefault('off')
      .describe(
        "whose `X-Forwarded-For` is believed: the number of proxies in front of the API, or their ranges; `off`: nobody's",
      ),
  })
  .refine(isProtected, UNPROTECTED)
  .refine(hasIntakeDatabase, NO_INTAKE_DATABASE);

export type ApiConfig = z.infer<typeof apiSettings>;

/** @throws ConfigError with one line for each wrong variable. */
export function readApiConfig(environment: Environment): ApiConfig {
  return readConfig(apiSettings, environment);
}
