import { type EndpointId, type EndpointRef, endpointNotFound, isAsleep } from '../model/endpoint';
import type { AccountId } from '../model/event';
import type { EndpointStore } from './redis-endpoint-store';

/** Gives the id of an endpoint that is there, for those who work with what belongs to it. */
export function createRequireEndpoint(endpointStore: Pick<EndpointStore, 'find' | 'idOf'>) {
  /** @throws AppError `not_found` when the account has no such endpoint. */
  return async function requireEndpoint(accountId: AccountId, ref: EndpointRef): Promise<EndpointId> {
    const id = await endpointStore.idOf(accountId, ref);
    const endpoint = id && (await endpointStore.find(accountId, id));
    if (!endpoint || isAsleep(endpoint)) throw endpointNotFound();
    return endpoint.id;
  };
}
