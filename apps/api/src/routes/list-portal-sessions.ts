import type { ManagePortalSessions } from '@hookferry/core/accounts/manage-portal-sessions';
import type { FoundSession } from '@hookferry/core/accounts/redis-portal-session-store';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/kernel/clock';
import { capabilitySchema, portalSessionIdSchema } from '@hookferry/core/model/portal-session';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

const sessionSchema = z
  .object({
    id: z.string(),
    account_id: z.string(),
    capabilities: z.array(capabilitySchema).readonly(),
    created_at: timeSchema,
    expires_at: timeSchema,
    exchanged_at: timeSchema.nullable(),
  })
  .meta({ id: 'PortalSession' });

const cursorSchema = z.object({ at: z.number(), id: portalSessionIdSchema });

export function listPortalSessions(sessions: ManagePortalSessions) {
  return defineRoute({
    operationId: 'listPortalSessions',
    summary: 'List portal sessions',
    method: 'get',
    path: '/v1/portal-sessions',
    scope: 'portal:write',
    request: { query: pageQuery(cursorSchema) },
    responses: {
      200: {
        description: 'A page of those that have not ended; those that last longest come first.',
        schema: pageOf(sessionSchema, 'PortalSessionPage'),
      },
    },
    async handle({ apiKey, query }) {
      const page = await sessions.list(apiKey.accountId, query.limit, query.cursor);
      return { status: 200, body: presentPage(page.sessions.map(present), page.nextCursor) };
    },
  });
}

function present(session: FoundSession): z.infer<typeof sessionSchema> {
  return {
    id: session.id,
    account_id: session.accountId,
    capabilities: session.capabilities,
    created_at: formatTime(session.createdAt),
    expires_at: formatTime(session.expiresAt),
    exchanged_at: formatTimeOrNull(session.exchange?.exchangedAt),
  };
}
