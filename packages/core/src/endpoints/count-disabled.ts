import type { DisabledEndpoints } from './redis-disabled-endpoints';
import type { EndpointStore } from './redis-endpoint-store';
import { isUnreadableSecret } from './seal';

export interface CountDisabledDeps {
  readonly disabledEndpoints: Pick<DisabledEndpoints, 'count' | 'some' | 'leave'>;
  readonly endpointStore: Pick<EndpointStore, 'find'>;
}

// One too many is rare: it takes a process that dies within a millisecond.
const CHECKED_AT_ONCE = 5;

/** How many endpoints are disabled. Each time some are looked at, and those that are wrongly counted leave. */
export function createCountDisabled({ disabledEndpoints, endpointStore }: CountDisabledDeps) {
  return async function countDisabled(): Promise<number> {
    const some = await disabledEndpoints.some(CHECKED_AT_ONCE);
    await Promise.all(
      some.map(async ({ accountId, endpointId, since }) => {
        const isDisabled = await endpointStore
          .find(accountId, endpointId)
          .then((endpoint) => endpoint?.status === 'disabled', staysCounted);
        if (!isDisabled) await disabledEndpoints.leave(accountId, endpointId, since);
      }),
    );
    return await disabledEndpoints.count();
  };
}

/** One whose secrets nobody can read may well be disabled, and must not keep all others from being counted. */
function staysCounted(error: unknown): true {
  if (isUnreadableSecret(error)) return true;
  throw error;
}
