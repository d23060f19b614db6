import type { z } from 'zod';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import type { DisabledReason, Endpoint, EndpointId } from '../domain/endpoint';
import type { Emit } from '../domain/signal';
import type { Clock } from '../platform/clock';
import { durationOrNeverSchema, durationSchema } from '../platform/duration';
import type { HealthStore } from './health/redis-health-store';
import type { EndpointStore } from './redis-endpoint-store';

export interface DisableParts {
  readonly endpointStore: Pick<EndpointStore, 'update'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface Disabling {
  /** After the call; `undefined` if it does not exist. */
  readonly endpoint: Endpoint | undefined;
  /** Whether this call disabled it. */
  readonly hasChanged: boolean;
}

/**
 * Disable an endpoint, unless it is disabled already.
 *
 * @param applies decides over the present endpoint, at the last moment.
 * @param act absent: nobody has asked for it.
 */
export async function disable(
  { endpointStore, clock, emit }: DisableParts,
  accountId: AccountId,
  id: EndpointId,
  reason: DisabledReason,
  applies: (current: Endpoint) => boolean = () => true,
  act?: Act,
): Promise<Disabling> {
  let hasChanged = false;
  const change = (current: Endpoint) => {
    hasChanged = current.status === 'enabled' && applies(current);
    return hasChanged ? asDisabled(current, reason, clock()) : current;
  };
  const endpoint = await endpointStore.update(accountId, id, change, act);
  if (hasChanged) emit({ name: 'endpoint.disabled', accountId, endpointId: id, reason });
  return { endpoint, hasChanged };
}

/** An attempt's result says nothing about an endpoint that was enabled again meanwhile. */
export function wasNotEnabledSince({ enabledAt }: Endpoint): (current: Endpoint) => boolean {
  return (current) => current.enabledAt === enabledAt;
}

export interface DisableFailingParts extends DisableParts {
  readonly healthStore: HealthStore;
  /** `never`: failing endpoints are tried for ever. */
  readonly disablePolicy: DisablePolicy | 'never';
}

/**
 * Disable an endpoint whose attempt has just failed, if it has failed for too long. Gives whether it did.
 * Costs nothing at an endpoint that began to fail recently.
 */
export async function disableFailing(
  parts: DisableFailingParts,
  endpoint: Endpoint,
  failingSince: number,
): Promise<boolean> {
  const { healthStore, disablePolicy, clock } = parts;
  const now = clock();
  if (disablePolicy === 'never' || !isSpanOver(disablePolicy, failingSince, now)) return false;
  const lastSuccessAt = await healthStore.readLastSuccess(endpoint.id);
  const enabledAt = endpoint.enabledAt ?? endpoint.createdAt;
  if (!hasFailedForTooLong(disablePolicy, { failingSince, lastSuccessAt, enabledAt, now })) return false;
  const { accountId, id } = endpoint;
  return (await disable(parts, accountId, id, 'failing', wasNotEnabledSince(endpoint))).hasChanged;
}

/** Workers disable by them, and the API tells when that will be. */
export const disableSettings = {
  DISABLE_AFTER: durationOrNeverSchema
    .prefault('5d')
    .describe('a webhook that only fails for this long is disabled; `never`: it is tried for ever'),
  DISABLE_FAILURE_SPAN: durationSchema
    .prefault('12h')
    .describe('for that, its failures must span at least this time'),
};

export function disablePolicyOf({
  DISABLE_AFTER,
  DISABLE_FAILURE_SPAN,
}: z.infer<z.ZodObject<typeof disableSettings>>): DisablePolicy | 'never' {
  return DISABLE_AFTER === 'never'
    ? 'never'
    : { afterMs: DISABLE_AFTER, failureSpanMs: DISABLE_FAILURE_SPAN };
}

/** When an endpoint that only fails is disabled. */
export interface DisablePolicy {
  /** After this long without a success. Milliseconds. */
  readonly afterMs: number;
  /**
   * And only if its failures since then are at least this far apart, in milliseconds: after weeks without an
   * event, one bad hour proves nothing.
   */
  readonly failureSpanMs: number;
}

/** The facts after another failed attempt. Times are milliseconds since the Unix epoch. */
export interface FailureHistory {
  /** When the first attempt since the last success failed. */
  readonly failingSince: number;
  readonly lastSuccessAt: number | undefined;
  /** When it was created, or enabled for the last time. */
  readonly enabledAt: number;
  readonly now: number;
}

/**
 * Whether its failures are far enough apart. Decided without reading the last success, and hardly ever true.
 */
function isSpanOver({ failureSpanMs }: DisablePolicy, failingSince: number, now: number): boolean {
  return now - failingSince >= failureSpanMs;
}

/** Whether an endpoint whose attempt has just failed is to be disabled. */
export function hasFailedForTooLong(policy: DisablePolicy, history: FailureHistory): boolean {
  return history.now >= disabledFrom(policy, history);
}

/** From when on another failure disables it. Milliseconds since the Unix epoch. */
export function disabledFrom(
  { afterMs, failureSpanMs }: DisablePolicy,
  { failingSince, lastSuccessAt = 0, enabledAt }: Omit<FailureHistory, 'now'>,
): number {
  const wellUntil = Math.max(lastSuccessAt, enabledAt);
  // A success that overlapped with the first failures may have left them recorded: they count from its time
  // on.
  return Math.max(Math.max(failingSince, wellUntil) + failureSpanMs, wellUntil + afterMs);
}

/** The endpoint, disabled. One that is disabled already keeps its reason. */
export function asDisabled(endpoint: Endpoint, reason: DisabledReason, now: number): Endpoint {
  if (endpoint.status === 'disabled') return endpoint;
  return { ...endpoint, status: 'disabled', disabledReason: reason, updatedAt: updateTime(endpoint, now) };
}

export function asEnabled(endpoint: Endpoint, now: number): Endpoint {
  if (endpoint.status === 'enabled') return endpoint;
  const { disabledReason: _reason, ...rest } = endpoint;
  return { ...rest, status: 'enabled', enabledAt: now, updatedAt: updateTime(endpoint, now) };
}

/** Two changes within a millisecond still differ, so that no two versions look the same. */
export function updateTime({ updatedAt }: Endpoint, now: number): number {
  return Math.max(now, updatedAt + 1);
}
