import { entryOf } from '@hookferry/core/accounts/audit/redis-recorded-change';
import { DEFAULT_ACCOUNT, type Principal } from '@hookferry/core/domain/account';
import { type Act, AUDIT_ID_PREFIX, type AuditActor } from '@hookferry/core/domain/audit';
import { AppError, type ErrorCode } from '@hookferry/core/platform/app-error';
import type { Request } from 'express';
import type { ApiContext } from '../context';
import { statusOf } from './problem';
import type { RequestState } from './request-state';
import { actionOf, type Route } from './route';

/** The facts of a request for the audit log that are known before its handler runs. */
export function actOf(
  // Not the request's own `newId`: one that is repeated under the same ids is another act.
  { auditBounds: bounds, onRecorded, newId, clock }: ApiContext,
  route: Route,
  state: RequestState,
): Act | undefined {
  const action = actionOf(route);
  if (action === undefined) return undefined;
  const { clientAddress: address } = state;
  const principal = principalOf(state);
  const id = newId(AUDIT_ID_PREFIX);
  const who = {
    actor: actorOf(principal),
    ...(principal && { actorAccountId: principal.ownAccountId ?? principal.accountId }),
    ...(address === undefined ? {} : { address }),
  };
  return { id, at: clock(), action, ...who, ...state.requestIds(newId), bounds, onRecorded };
}

/** Also that of a request that failed at scope or account. */
function principalOf({ apiKey, spender }: RequestState): Principal | undefined {
  return apiKey ?? spender;
}

function actorOf(principal: Principal | undefined): AuditActor {
  if (principal === undefined) return { type: 'anonymous' };
  const { id, capabilities, label, name } = principal;
  // With its name: once the key is revoked, nothing else knows it.
  if (capabilities === undefined) return { type: 'api_key', id, ...(name === undefined ? {} : { name }) };
  return { type: 'portal_session', id, ...(label === undefined ? {} : { label }) };
}

// These are bounds of requests, not decisions about an action. Their many repetitions would crowd out real refusals.
const NO_REFUSALS: readonly ErrorCode[] = ['rate_limited', 'request_in_progress', 'request_timeout'];
const MAX_TARGET_LENGTH = 128;

/** Record that a request was refused. Nothing of its body is in the record. */
export function noteRefusal(
  core: ApiContext,
  route: Route,
  request: Request,
  state: RequestState,
  error: unknown,
): void {
  const act = actOf(core, route, state);
  if (act === undefined || !(error instanceof AppError)) return;
  const { code } = error;
  if (statusOf(code) >= 500 || NO_REFUSALS.includes(code)) return;
  const principal = principalOf(state);
  const accountId = principal && (route.operatorOnly ? DEFAULT_ACCOUNT : principal.accountId);
  const target = request.params.id ?? request.params.name;
  const targetId = typeof target === 'string' ? target.slice(0, MAX_TARGET_LENGTH) : undefined;
  core.refusals.note({ ...entryOf({ act, accountId, targetId }), code });
}
