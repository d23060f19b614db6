import { isDeepStrictEqual } from 'node:util';
import type { AccountId } from '../domain/account';
import { batchLimitsOf, type Endpoint, type EndpointId, usesLane } from '../domain/endpoint';
import { invalidRequest } from '../platform/app-error';
import { updateTime } from './disable';
import { type EndpointPatch, mergeEndpoint, movedSecrets, type NewEndpoint } from './endpoint-input';
import { matchesType } from './filters/event-filters';
import type { Subscriber } from './redis-subscriptions';
import { newSecret } from './rotate-secret';

/** A new endpoint as its client describes it: a listener has its connection besides. */
export type EndpointInput = NewEndpoint & { readonly listener?: Endpoint['listener'] };

/** @throws AppError `invalid_request`, also for TLS material that doesn't go together. */
export function newEndpoint(
  accountId: AccountId,
  id: EndpointId,
  { secret = newSecret(), status, verification: _demanded, ...rest }: EndpointInput,
  signing: Endpoint['signing'],
  now: number,
): Endpoint {
  const disabledReason = rest.listener ? 'disconnected' : 'client';
  return mergeEndpoint(
    {
      id,
      accountId,
      enabledAt: now,
      ...(status === 'disabled' ? { status, disabledReason } : {}),
      signing,
      secrets: [{ secret, createdAt: now }],
      createdAt: now,
      updatedAt: now,
    },
    rest,
    now,
  );
}

/**
 * An endpoint after a patch.
 *
 * @param mayMoveSecrets whether it keeps its secrets when the patch moves its requests to another place.
 * @throws AppError `invalid_request`, also for secrets that it may not move.
 */
export function applyPatch(
  endpoint: Endpoint,
  patch: Omit<EndpointPatch, 'verification'>,
  mayMoveSecrets: boolean,
  now: number,
): Endpoint {
  const changed = mergeEndpoint({ ...endpoint, updatedAt: updateTime(endpoint, now) }, patch, now);
  const moved = mayMoveSecrets ? [] : movedSecrets(endpoint, changed, patch);
  if (moved.length > 0) throw invalidRequest(moved);
  return changed;
}

/** Whether what waits at the one may go when it may at the other. */
export function hasSameLimits(one: Endpoint, other: Endpoint): boolean {
  // Those that are held because of a token URL can go by what replaces it.
  const isSameAuth = one.auth?.changedAt === other.auth?.changedAt;
  const isSameOrder =
    one.ordering === other.ordering && hasSameWindow(one, other) && usesLane(one) === usesLane(other);
  const isSameBatch = isDeepStrictEqual(batchLimitsOf(one), batchLimitsOf(other));
  return isSameOrder && one.rateLimit === other.rateLimit && isSameAuth && isSameBatch;
}

export function hasSameWindow(one: Endpoint, other: Endpoint): boolean {
  return one.coalesce?.window_ms === other.coalesce?.window_ms;
}

/** The filter of a list of endpoints. */
export interface EndpointFilter {
  readonly status?: Endpoint['status'] | undefined;
  /** It subscribes to this type. */
  readonly eventType?: string | undefined;
  /** Its id, uid, URL or description contains this text, in whatever case. */
  readonly search?: string | undefined;
  /** Its latest attempt failed, or it was disabled for failures. */
  readonly isFailing?: boolean | undefined;
}

export function matchesFilter({ status, events }: Subscriber, filter: EndpointFilter): boolean {
  if (filter.status !== undefined && filter.status !== status) return false;
  const { eventType } = filter;
  return eventType === undefined || events.some((asked) => matchesType(asked, eventType));
}

export function matchesSearch({ id, uid, url, description }: Endpoint, search: string): boolean {
  const wanted = search.toLowerCase();
  return [id, uid ?? '', url, description ?? ''].some((text) => text.toLowerCase().includes(wanted));
}
