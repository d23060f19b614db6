import type { OpenedSession } from '@hookferry/core/accounts/exchange-code';
import type { ExchangeOfClient } from '@hookferry/core/accounts/limit-exchanges';
import { portalThemeSchema } from '@hookferry/core/accounts/portal-session-input';
import { formatTime, timeSchema } from '@hookferry/core/kernel/clock';
import { capabilitySchema } from '@hookferry/core/model/portal-session';
import { z } from 'zod';
import { defineRoute } from '../http/route';

const MAX_BODY_BYTES = 1_024;

const bodySchema = z.strictObject({ code: z.string() }).meta({ id: 'PortalCode' });

const openedSchema = z
  .object({
    token: z.string(),
    id: z.string(),
    account_id: z.string(),
    capabilities: z.array(capabilitySchema).readonly(),
    expires_at: timeSchema,
    return_url: z.string().nullable(),
    theme: portalThemeSchema,
  })
  .meta({ id: 'OpenedPortalSession' });

/** Whoever has the code needs no key: it is one, for one time. */
export function exchangePortalCode(exchangeCode: ExchangeOfClient) {
  return defineRoute({
    operationId: 'exchangePortalCode',
    summary: "Exchange the code of a link for its session's token, once",
    method: 'post',
    path: '/v1/portal-sessions/exchange',
    scope: 'none',
    request: { body: bodySchema },
    maxBodyBytes: MAX_BODY_BYTES,
    responses: {
      200: {
        description:
          'The session, and the token to send as `Authorization: Bearer`, which no other answer shows.',
        schema: openedSchema,
      },
    },
    async handle({ body, clientAddress }) {
      const opened = await exchangeCode(body.code, clientAddress());
      return { status: 200, headers: { 'cache-control': 'no-store' }, body: present(opened) };
    },
  });
}

function present({ token, session, page }: OpenedSession): z.infer<typeof openedSchema> {
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
