import { keyIn, requireOperator } from '@hookferry/core/accounts/authentication';
import { LARGE_BYTES } from '@hookferry/core/accounts/heavy-turns';
import type { RateStanding } from '@hookferry/core/accounts/limit-rate';
import {
  type AccountId,
  type Capability,
  hasScope,
  type Principal,
  type Scope,
} from '@hookferry/core/domain/account';
import type { EndpointsVersion } from '@hookferry/core/endpoints/subscriptions';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Assumption } from '@hookferry/core/publish/redis-assumption';
import type { Request, Response } from 'express';
import type { ApiContext } from '../context';
import { type RequestState, requestStateOf } from './request-state';
import type { Route } from './route';

type GuardedRoute = Pick<Route, 'scope' | 'operatorOnly' | 'handlesSecret' | 'capability' | 'stores'>;

/** Let only requests pass whose API key, or portal session, may use the route, and note the account. */
export async function admit(
  core: ApiContext,
  route: GuardedRoute,
  request: Request,
  response: Response,
): Promise<void> {
  const state = requestStateOf(response);
  const { authorization } = request.headers;
  const isPublishing = route.stores === 'event';
  // Publishing needs it next: it is read together with the key, which saves a round trip.
  const early = isPublishing ? readEarly(core, authorization) : undefined;
  const apiKey = await core.authentication.authenticate(authorization, state.clientAddress);
  await letIn(core, route, request, response, apiKey);
  if (!isPublishing) return;
  const { accountId } = state.apiKey ?? apiKey;
  state.endpointsVersion = early?.accountId === accountId ? early.version : readVersion(core, accountId);
}

/**
 * What a request to publish may begin by: that its key, which this process has read before, is still valid,
 * that its account's endpoints are the same, and that it still has room. `undefined`: it has to be read.
 *
 * @throws AppError `rate_limited` for an address that failed too often.
 */
export function assume(
  { assumptions, authentication, subscriptions, quota }: ApiContext,
  request: Request,
  { clientAddress }: RequestState,
): Assumption | undefined {
  if (!assumptions.arePossible || !isShort(request)) return undefined;
  const known = authentication.assumeApiKey(request.headers.authorization, clientAddress);
  if (!known) return undefined;
  const { accountId } = known.parsed;
  const account = request.headers['x-account-id'];
  if (account !== undefined && account !== accountId) return undefined;
  const endpointsVersion = subscriptions.knownVersion(accountId);
  if (endpointsVersion === undefined || !quota.hadRoom(accountId)) return undefined;
  authentication.noteUse(known.parsed);
  return assumptions.make({ accountId, apiKey: known.parsed, apiKeyRecord: known.raw, endpointsVersion });
}

// Longer bodies are only read after the key was checked.
function isShort({ headers }: Request): boolean {
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= LARGE_BYTES;
}

/** Count the request, and let it pass if its key, or session, may use the route. */
export async function letIn(
  core: ApiContext,
  { scope, operatorOnly, handlesSecret, capability, stores }: GuardedRoute,
  request: Request,
  response: Response,
  apiKey: Principal,
): Promise<void> {
  const state = requestStateOf(response);
  // Only now: a client that knows the id of a key, but not the key, must not use up its requests.
  state.spender = apiKey;
  await spend(core, response, 1);
  if (capability && apiKey.capabilities) requireCapability(apiKey.capabilities, capability);
  else if (scope !== 'any' && scope !== 'none') requireScope(apiKey, scope);
  if (handlesSecret && apiKey.capabilities) requireCapability(apiKey.capabilities, 'secrets');
  if (operatorOnly) requireOperator(apiKey, scope === 'accounts:act' ? scope : 'admin');
  if (apiKey.eventTypes && scope === PUBLISHING && stores !== 'event') throw onlyPublishes(apiKey.eventTypes);
  state.apiKey = await core.authentication.resolveAccount(apiKey, request.get('x-account-id'));
}

/** Undo the effects of a request whose key or account differs from the cached one. */
export function withdraw({ rateLimit }: ApiContext, response: Response): void {
  const state = requestStateOf(response);
  const { spender, spent } = state;
  if (spender && spent) rateLimit.giveBack(spender, spent.points, spent.windows);
  state.letOut();
}

function readEarly(core: ApiContext, authorization: string | undefined) {
  const accountId = core.authentication.accountOf(authorization);
  return accountId === undefined ? undefined : { accountId, version: readVersion(core, accountId) };
}

function readVersion({ subscriptions }: ApiContext, accountId: AccountId): Promise<EndpointsVersion> {
  const version = subscriptions.readVersion(accountId);
  // Its user gets the failure. A refused request does not need it any more.
  version.catch(() => {});
  return version;
}

/** The key, or token, as the client sent it. It is stored nowhere. */
export function presentedKeyOf(request: Request): string {
  return keyIn(request.headers.authorization) ?? '';
}

const EXHAUSTED: Readonly<Record<RateStanding['limitOf'], string>> = {
  key: 'This API key sent more requests than its limit allows. Wait as long as Retry-After says.',
  account:
    'The API keys of this account together sent more requests than its limit allows. Wait as long as Retry-After says.',
};

/**
 * Count further points for the key of a request, and tell the client its standing
 * (draft-ietf-httpapi-ratelimit-headers-10): of the two limits, the key's and its account's, the one that
 * leaves less.
 *
 * @throws AppError `rate_limited` when it was too much.
 */
export async function spend({ rateLimit }: ApiContext, response: Response, points: number): Promise<void> {
  const state = requestStateOf(response);
  const standing = state.spender && (await rateLimit.spend(state.spender, points));
  if (!standing) return;
  const { allowance, isWithin, limitOf, remaining, resetsInMs } = standing;
  if (isWithin) noteSpent(state, points, standing);
  const { count, windowMs } = allowance;
  state.rate = {
    policy: `"default";q=${count};w=${windowMs / 1_000}`,
    standing: `"default";r=${remaining};t=${Math.ceil(resetsInMs / 1_000)}`,
  };
  if (!isWithin) throw new AppError('rate_limited', EXHAUSTED[limitOf], { retryAfterMs: resetsInMs });
}

function noteSpent(state: RequestState, points: number, { windows }: RateStanding): void {
  const before = state.spent?.windows === windows ? state.spent.points : 0;
  state.spent = { points: before + points, windows };
}

/** @throws AppError `insufficient_scope`. */
export function requireScope(principal: Principal, scope: Scope): void {
  if (hasScope(principal, scope)) return;
  const who = principal.capabilities === undefined ? 'API key' : 'portal session';
  throw new AppError('insufficient_scope', `This ${who} lacks the scope "${scope}".`);
}

const PUBLISHING: Scope = 'events:write';

function onlyPublishes(eventTypes: readonly string[]): AppError {
  return new AppError(
    'insufficient_scope',
    `This API key may only publish, events of ${eventTypes.join(', ')}: it was issued with "event_types".`,
  );
}

function requireCapability(capabilities: readonly Capability[], needed: Capability): void {
  if (capabilities.includes(needed)) return;
  throw new AppError('insufficient_scope', `This portal session lacks the capability "${needed}".`);
}
