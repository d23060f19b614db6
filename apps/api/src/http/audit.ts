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
  const id = newId(AUDIT_ID_PREFIX);
  const who = {
    actor: actorOf(state.apiKey),
    ...(state.apiKey === undefined ? {} : { actorAccountId: state.apiKey.accountId }),
    ...(address === undefined ? {} : { address }),
  };
  return { id, at: clock(), action, ...who, ...state.requestIds(newId), bounds, onRecorded };
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
  const { bounds: _bounds, onRecorded: _onRecorded, actorAccountId: _actorAccountId, ...facts } = act;
  // The actor of a request that failed at scope or account is known.
  const known = state.apiKey ?? state.spender;
  const accountId = known && (route.operatorOnly ? DEFAULT_ACCOUNT : known.accountId);
  const target = request.params.id ?? request.params.name;
  core.refusals.note({
    ...facts,
    actor: actorOf(accountId === known?.accountId ? known : unnamed(known)),
    code,
    ...(accountId === undefined ? {} : { accountId }),
    ...(typeof target === 'string' ? { targetId: target.slice(0, MAX_TARGET_LENGTH) } : {}),
  });
}

/** For the log of another account: there a name would outlive the erasure of its own. */
function unnamed(principal: Principal | undefined): Principal | undefined {
  if (principal === undefined) return undefined;
  const { name: _name, label: _label, ...rest } = principal;
  return rest;
}
