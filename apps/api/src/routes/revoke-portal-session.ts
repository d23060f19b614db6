import type { ManagePortalSessions } from '@hookferry/core/accounts/manage-portal-sessions';
import { portalSessionIdSchema } from '@hookferry/core/model/portal-session';
import { z } from 'zod';
import { defineRoute } from '../http/route';

/** Takes effect with the next request, in every process. */
export function revokePortalSession(sessions: ManagePortalSessions) {
  return defineRoute({
    operationId: 'revokePortalSession',
    summary: 'End a portal session',
    method: 'delete',
    path: '/v1/portal-sessions/:id',
    scope: 'portal:write',
    request: { params: z.object({ id: portalSessionIdSchema }) },
    responses: {
      204: { description: 'It no longer counts.' },
    },
    async handle({ apiKey, params }) {
      await sessions.revoke(apiKey, params.id);
      return { status: 204 };
    },
  });
}
