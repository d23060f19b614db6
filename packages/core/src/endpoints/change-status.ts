import type { DisabledReason, Endpoint } from '../model/endpoint';

/** The endpoint, disabled. One that is disabled already keeps its reason. */
export function disableEndpoint(endpoint: Endpoint, reason: DisabledReason, now: number): Endpoint {
  if (endpoint.status === 'disabled') return endpoint;
  return { ...endpoint, status: 'disabled', disabledReason: reason, updatedAt: updateTime(endpoint, now) };
}

export function enableEndpoint(endpoint: Endpoint, now: number): Endpoint {
  if (endpoint.status === 'enabled') return endpoint;
  const { disabledReason: _reason, ...rest } = endpoint;
  return { ...rest, status: 'enabled', enabledAt: now, updatedAt: updateTime(endpoint, now) };
}

/** Two changes within a millisecond still differ, so that no two versions look the same. */
export function updateTime({ updatedAt }: Endpoint, now: number): number {
  return Math.max(now, updatedAt + 1);
}
