import type { Clock } from '../runtime/clock';
import type { Emit } from '../signals/signals';
import { disableEndpoint } from './change-status';
import type { DisabledReason, Endpoint } from './endpoint';
import type { EndpointStore } from './redis-endpoint-store';

export interface DisableDeps {
  readonly endpointStore: Pick<EndpointStore, 'update'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Disables an endpoint because of how its receiver behaves. Gives whether it was this call that did it: not when it
 * is disabled or deleted by now, or was enabled again since the endpoint was read.
 */
export function createDisable({ endpointStore, clock, emit }: DisableDeps) {
  return async function disable(endpoint: Endpoint, reason: DisabledReason): Promise<boolean> {
    let hasChanged = false;
    await endpointStore.update(endpoint.accountId, endpoint.id, (current) => {
      hasChanged = current.status === 'enabled' && current.enabledAt === endpoint.enabledAt;
      return hasChanged ? disableEndpoint(current, reason, clock()) : current;
    });
    if (hasChanged) emit({ name: 'endpoint.disabled', endpointId: endpoint.id, reason });
    return hasChanged;
  };
}

export type Disable = ReturnType<typeof createDisable>;
