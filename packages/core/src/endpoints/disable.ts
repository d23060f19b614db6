import type { Clock } from '../kernel/clock';
import type { DisabledReason, Endpoint, EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import { disableEndpoint } from './change-status';
import type { EndpointStore } from './redis-endpoint-store';

export interface DisableDeps {
  readonly endpointStore: Pick<EndpointStore, 'update'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

export interface Disabling {
  /** As it is now; `undefined` when it is not there. */
  readonly endpoint: Endpoint | undefined;
  /** Whether it was this that disabled it. */
  readonly hasChanged: boolean;
}

/** Disables an endpoint, unless it is disabled already. */
export function createDisable({ endpointStore, clock, emit }: DisableDeps) {
  /** @param applies has the last word, over the endpoint as it is by now. */
  return async function disable(
    accountId: AccountId,
    id: EndpointId,
    reason: DisabledReason,
    applies: (current: Endpoint) => boolean = () => true,
  ): Promise<Disabling> {
    let hasChanged = false;
    const endpoint = await endpointStore.update(accountId, id, (current) => {
      hasChanged = current.status === 'enabled' && applies(current);
      return hasChanged ? disableEndpoint(current, reason, clock()) : current;
    });
    if (hasChanged) emit({ name: 'endpoint.disabled', accountId, endpointId: id, reason });
    return { endpoint, hasChanged };
  };
}

export type Disable = ReturnType<typeof createDisable>;

/** What an attempt has shown says nothing of an endpoint that was enabled again meanwhile. */
export function wasNotEnabledSince({ enabledAt }: Endpoint): (current: Endpoint) => boolean {
  return (current) => current.enabledAt === enabledAt;
}
