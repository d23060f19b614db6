import { capabilitiesToGive } from '@hookferry/core/accounts/portal-sessions';
import {
  capabilitySchema,
  DEFAULT_ACCOUNT,
  hasScope,
  type Principal,
  scopeSchema,
} from '@hookferry/core/domain/account';
import { formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { type Allowance, SAME_AS_KEY } from '@hookferry/core/platform/duration';
import { z } from 'zod';
import type { ApiContext } from '../context';
import { defineRoute } from '../http/route';

const requestLimitSchema = z
  .object({
    requests: z.int().describe('How many requests are allowed within the window.'),
    window_seconds: z.number().describe('The length of the window, in seconds.'),
  })
  .nullable();

const meSchema = z
  .object({
    account_id: z
      .string()
      .describe('The account that the request is for: that of the key, or the one in `X-Account-Id`.'),
    type: z.enum(['api_key', 'portal_session']).describe('What the request was authenticated with.'),
    id: z.string().describe('The id of the API key or the portal session.'),
    name: z
      .string()
      .nullable()
      .describe('The name of the API key, or the label of the portal session. Null: it has none.'),
    scopes: z
      .array(scopeSchema)
      .readonly()
      .describe('What it may do: each route names the scope that it needs.'),
    capabilities: z
      .array(capabilitySchema)
      .readonly()
      .describe('What the portal session may be used for, or one that this API key makes for its account.'),
    event_types: z
      .array(z.string())
      .readonly()
      .nullable()
      .describe('The only types of events that it may publish. Null: all types.'),
    acts_for_accounts: z.boolean().describe('Whether it may name other accounts in `X-Account-Id`.'),
    expires_at: timeSchema.nullable().describe('When it stops working. Null: never.'),
    limits: z
      .object({
        key: requestLimitSchema.describe('The limit of this key. Null: none.'),
        account: requestLimitSchema.describe('The limit of all keys of its account together. Null: none.'),
        max_event_bytes: z.int().describe('The most bytes of an event, as it is delivered.'),
      })
      .meta({ id: 'KeyLimits' })
      .describe('The limits of the service for this key.'),
  })
  .meta({ id: 'Me' });

/** For programs that want to know, before they begin, whether their key is the right one. */
export const readMe = defineRoute({
  operationId: 'readMe',
  summary: 'Read who you are: the account, scopes and limits of the key',
  method: 'get',
  path: '/v1/me',
  scope: 'any',
  request: {},
  responses: { 200: { description: 'The key of this request.', schema: meSchema } },
  async handle({ apiKey }, core) {
    const { id, accountId, scopes, capabilities, eventTypes } = apiKey;
    return {
      status: 200,
      body: {
        account_id: accountId,
        type: capabilities === undefined ? 'api_key' : 'portal_session',
        id,
        ...(await readRest(apiKey, core)),
        scopes,
        capabilities: capabilities ?? capabilitiesToGive(apiKey),
        event_types: eventTypes ?? null,
        limits: limitsOf(core),
      } satisfies z.infer<typeof meSchema>,
    };
  },
});

// What no other route needs to know of its key.
async function readRest({ id, capabilities, label, scopes }: Principal, core: ApiContext) {
  const own = capabilities === undefined ? await core.apiKeyStore.find(id) : undefined;
  const session = capabilities === undefined ? undefined : await core.portalSessionStore.find(id);
  return {
    name: own?.name ?? label ?? null,
    acts_for_accounts: own?.accountId === DEFAULT_ACCOUNT && hasScope({ scopes }, 'accounts:act'),
    expires_at: formatTimeOrNull(own?.expiresAt ?? session?.expiresAt),
  };
}

function limitsOf({ config }: ApiContext) {
  const { RATE_LIMIT: ofKey, ACCOUNT_RATE_LIMIT: ofAccount, MAX_EVENT_BYTES } = config;
  return {
    key: presentLimit(ofKey),
    account: presentLimit(ofAccount === SAME_AS_KEY ? ofKey : ofAccount),
    max_event_bytes: MAX_EVENT_BYTES,
  };
}

function presentLimit(allowance: Allowance | undefined) {
  return allowance === undefined
    ? null
    : { requests: allowance.count, window_seconds: allowance.windowMs / 1_000 };
}
