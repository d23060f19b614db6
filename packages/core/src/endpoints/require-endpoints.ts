import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { EndpointId } from './endpoint';
import type { EndpointStore } from './redis-endpoint-store';

/**
 * Makes sure that an account has the endpoints that an event is aimed at.
 *
 * @throws AppError `invalid_request`, which names those that it has not.
 */
export function createRequireEndpoints(endpointStore: Pick<EndpointStore, 'findMissing'>) {
  return async function requireEndpoints(accountId: AccountId, ids: readonly EndpointId[]): Promise<void> {
    const missing = await endpointStore.findMissing(accountId, ids);
    if (missing.length === 0) return;
    throw new AppError(
      'invalid_request',
      'The event is aimed at webhooks that are not there: see "errors".',
      {
        faults: missing.map((id) => ({
          pointer: `/webhook_ids/${ids.indexOf(id)}`,
          detail: `there is no webhook ${id}`,
        })),
      },
    );
  };
}

export type RequireEndpoints = ReturnType<typeof createRequireEndpoints>;
