import type { ManagePortalSessions } from '@hookferry/core/accounts/manage-portal-sessions';
import { newPortalCode } from '@hookferry/core/accounts/new-credential';
import { newPortalSessionSchema } from '@hookferry/core/accounts/portal-session-input';
import { formatTime, timeSchema } from '@hookferry/core/kernel/clock';
import { z } from 'zod';
import { defineRoute } from '../http/route';

const issuedSessionSchema = z
  .object({
    id: z.string(),
    url: z.string().meta({ example: 'https://hooks.example.com/portal/#code=whc_…' }),
    expires_at: timeSchema,
  })
  .meta({ id: 'IssuedPortalSession' });

/** The only answer that shows the link. Its code stands behind the `#`, which browsers send to nobody. */
export function createPortalSession(sessions: ManagePortalSessions, publicUrl: string | undefined) {
  return defineRoute({
    operationId: 'createPortalSession',
    summary: 'Make a link to the portal',
    method: 'post',
    path: '/v1/portal-sessions',
    scope: 'portal:write',
    request: { body: newPortalSessionSchema, mayLackBody: true },
    creates: true,
    stores: 'other',
    responses: {
      201: {
        description: 'The session, and the link that opens it: once, and within ten minutes.',
        schema: issuedSessionSchema,
      },
    },
    problems: ['limit_reached'],
    async handle({ apiKey: principal, body: input, newId, secretBytes, receivedAt, origin }) {
      // First: no session is made for a link that can't be.
      const base = publicUrl ?? origin();
      const code = newPortalCode(newId, secretBytes);
      const session = await sessions.create({ principal, input, code, createdAt: receivedAt });
      return {
        status: 201,
        headers: { 'cache-control': 'no-store' },
        body: {
          id: session.id,
          url: `${base}/portal/#code=${code}`,
          expires_at: formatTime(session.expiresAt),
        },
      };
    },
  });
}
