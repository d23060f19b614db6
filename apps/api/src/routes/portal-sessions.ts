import { newPortalCode } from '@hookferry/core/accounts/api-keys';
import {
  CAPABILITIES,
  newPortalSessionSchema,
  type OpenedSession,
  portalThemeSchema,
  THEME,
} from '@hookferry/core/accounts/portal-sessions';
import type { FoundSession } from '@hookferry/core/accounts/redis-portal-session-store';
import { capabilitySchema, portalSessionIdSchema } from '@hookferry/core/domain/account';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

const issuedSessionSchema = z
  .object({
    id: z.string().describe('The id of the session, to end it with.'),
    url: z
      .string()
      .meta({ example: 'https://hooks.example.com/portal/#code=whc_…' })
      .describe('The link that opens the session. It works once, within 10 minutes.'),
    expires_at: timeSchema.describe('When the session ends.'),
  })
  .meta({ id: 'IssuedPortalSession' });

/** The only response that shows the link. Its code is behind the `#`, which browsers never send. */
export const createPortalSession = defineRoute({
  operationId: 'createPortalSession',
  summary: 'Create a link to the portal',
  method: 'post',
  path: '/v1/portal-sessions',
  scope: 'portal:write',
  audit: 'session.create',
  request: {
    body: newPortalSessionSchema,
    mayLackBody: true,
    example: {
      expires_in_seconds: 3_600,
      capabilities: ['read', 'webhooks', 'redeliver'],
      return_url: 'https://app.example.com/settings/webhooks',
      theme: { name: 'Example Ltd', color: '#1f6feb', mode: 'system' },
    },
  },
  creates: true,
  stores: 'other',
  responses: {
    201: {
      description: 'The session, and the link that opens it.',
      schema: issuedSessionSchema,
    },
  },
  problems: ['limit_reached'],
  async handle({ apiKey: principal, body: input, newId, secretBytes, receivedAt, origin, act }, core) {
    // First: without a valid link no session is made.
    const base = core.config.PUBLIC_URL ?? origin();
    const code = newPortalCode(newId, secretBytes);
    const session = await core.portalSessions.create({
      principal,
      input,
      code,
      createdAt: receivedAt,
      act,
    });
    return {
      status: 201,
      body: {
        id: session.id,
        url: `${base}/portal/${input.language === undefined ? '' : `?language=${input.language}`}#code=${code}`,
        expires_at: formatTime(session.expiresAt),
      },
    };
  },
});

const sessionSchema = z
  .object({
    id: z.string().describe('The id of the session.'),
    account_id: z.string().describe('The account whose webhooks the session shows.'),
    capabilities: z.array(capabilitySchema).readonly().describe(CAPABILITIES),
    label: z.string().nullable().describe('The label of the session. Null: it has none.'),
    created_at: timeSchema.describe('When the link was created.'),
    expires_at: timeSchema.describe('When the session ends.'),
    exchanged_at: timeSchema.nullable().describe('When the link was opened. Null: not yet.'),
  })
  .meta({ id: 'PortalSession' });

const cursorSchema = z.object({ at: z.number(), id: portalSessionIdSchema });

export const listPortalSessions = defineRoute({
  operationId: 'listPortalSessions',
  summary: 'List portal sessions',
  method: 'get',
  path: '/v1/portal-sessions',
  scope: 'portal:write',
  request: { query: pageQuery(cursorSchema) },
  responses: {
    200: {
      description: 'A page of sessions that have not ended. The one that ends last comes first.',
      schema: pageOf(sessionSchema, 'PortalSessionPage'),
    },
  },
  async handle({ apiKey, query }, core) {
    const page = await core.portalSessions.list(apiKey.accountId, query.limit, query.cursor);
    return { status: 200, body: presentPage(page.sessions.map(present), page.nextCursor) };
  },
});

function present(session: FoundSession): z.infer<typeof sessionSchema> {
  return {
    id: session.id,
    account_id: session.accountId,
    capabilities: session.capabilities,
    label: session.label ?? null,
    created_at: formatTime(session.createdAt),
    expires_at: formatTime(session.expiresAt),
    exchanged_at: formatTimeOrNull(session.exchange?.exchangedAt),
  };
}

/** Takes effect with the next request, in every process. */
export const revokePortalSession = defineRoute({
  operationId: 'revokePortalSession',
  summary: 'End a portal session',
  method: 'delete',
  path: '/v1/portal-sessions/:id',
  scope: 'portal:write',
  audit: 'session.revoke',
  request: { params: z.object({ id: portalSessionIdSchema }) },
  responses: {
    204: { description: 'The session has ended. Its token is refused from the next request on.' },
  },
  async handle({ apiKey, params, act }, core) {
    await core.portalSessions.revoke(apiKey, params.id, act);
    return { status: 204 };
  },
});

const MAX_BODY_BYTES = 1_024;

const bodySchema = z
  .strictObject({ code: z.string().describe('The code: the text after `#code=` in the link.') })
  .meta({ id: 'PortalCode' });

const openedSchema = z
  .object({
    token: z.string().describe('The token to send as `Authorization: Bearer`. No other response shows it.'),
    id: z.string().describe('The id of the session.'),
    account_id: z.string().describe('The account whose webhooks the session shows.'),
    capabilities: z.array(capabilitySchema).readonly().describe(CAPABILITIES),
    expires_at: timeSchema.describe('When the session ends.'),
    return_url: z.string().nullable().describe('The URL that the portal links back to. Null: none.'),
    theme: portalThemeSchema.describe(THEME),
  })
  .meta({ id: 'OpenedPortalSession' });

/** A client with the code needs no key: the code is one, for one time. */
export const exchangePortalCode = defineRoute({
  operationId: 'exchangePortalCode',
  summary: 'Exchange the code of a link for the token of its session, once',
  method: 'post',
  path: '/v1/portal-sessions/exchange',
  scope: 'none',
  audit: 'session.login',
  request: {
    body: bodySchema,
    example: { code: 'whc_0123456789abcdef_0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk' },
  },
  maxBodyBytes: MAX_BODY_BYTES,
  responses: {
    200: {
      description: 'The session, and its token.',
      schema: openedSchema,
    },
  },
  async handle({ body, clientAddress, act }, core) {
    const opened = await core.portalSessions.exchange(body.code, clientAddress(), act);
    return { status: 200, body: presentOpened(opened) };
  },
});

function presentOpened({ token, session, page }: OpenedSession): z.infer<typeof openedSchema> {
  return {
    token,
    id: session.id,
    account_id: session.accountId,
    capabilities: session.capabilities,
    expires_at: formatTime(session.expiresAt),
    return_url: page.returnUrl ?? null,
    theme: page.theme ?? {},
  };
}
