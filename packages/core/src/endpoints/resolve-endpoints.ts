import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { EndpointId, EndpointRef } from './endpoint';
import type { EndpointStore } from './redis-endpoint-store';

/**
 * Gives the ids of the endpoints that an event is aimed at, each once.
 *
 * @throws AppError `invalid_request`, which names those that the account has not.
 */
export function createResolveEndpoints(endpointStore: Pick<EndpointStore, 'findIds'>) {
  return async function resolveEndpoints(
    accountId: AccountId,
    refs: readonly EndpointRef[],
  ): Promise<readonly EndpointId[]> {
    const ids = await endpointStore.findIds(accountId, refs);
    if (ids.includes(undefined)) throw notThere(refs.map((ref, index) => ({ ref, id: ids[index] })));
    return [...new Set(ids.filter((id) => id !== undefined))];
  };
}

export type ResolveEndpoints = ReturnType<typeof createResolveEndpoints>;

function notThere(named: readonly { readonly ref: EndpointRef; readonly id: EndpointId | undefined }[]) {
  const faults = named.flatMap(({ ref, id }, index) =>
    id === undefined ? [{ pointer: `/webhook_ids/${index}`, detail: `there is no webhook ${ref}` }] : [],
  );
  return new AppError('invalid_request', 'The event is aimed at webhooks that are not there: see "errors".', {
    faults,
  });
}
