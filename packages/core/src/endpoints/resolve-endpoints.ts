import type { AccountId } from '../domain/account';
import {
  type Endpoint,
  type EndpointId,
  type EndpointRef,
  endpointNotFound,
  isAsleep,
} from '../domain/endpoint';
import { AppError } from '../platform/app-error';
import type { EndpointStore } from './redis-endpoint-store';

/**
 * Give the ids of endpoints that were looked up, each once.
 *
 * @throws AppError `invalid_request`, which names the endpoints that the account does not have.
 */
export type ResolvedEndpoints = (refs: readonly EndpointRef[]) => readonly EndpointId[];

/** Look up all endpoints that a request names at once, however many of its events name the same ones. */
export async function lookUpEndpoints(
  { endpointStore }: { readonly endpointStore: Pick<EndpointStore, 'findIds'> },
  accountId: AccountId,
  refs: readonly EndpointRef[],
): Promise<ResolvedEndpoints> {
  if (refs.length === 0) return resolveNone;
  const distinct = [...new Set(refs)];
  const ids = await endpointStore.findIds(accountId, distinct);
  const idOf = new Map(distinct.map((ref, index) => [ref, ids[index]]));
  return (named) => resolve(named, idOf);
}

const resolveNone: ResolvedEndpoints = () => [];

function resolve(
  refs: readonly EndpointRef[],
  idOf: ReadonlyMap<EndpointRef, EndpointId | undefined>,
): readonly EndpointId[] {
  const ids = refs.map((ref) => idOf.get(ref));
  if (ids.includes(undefined)) throw notThere(refs.map((ref, index) => ({ ref, id: ids[index] })));
  return [...new Set(ids.filter((id) => id !== undefined))];
}

function notThere(named: readonly { readonly ref: EndpointRef; readonly id: EndpointId | undefined }[]) {
  const validationErrors = named.flatMap(({ ref, id }, index) =>
    id === undefined ? [{ pointer: `/webhook_ids/${index}`, detail: `there is no webhook ${ref}` }] : [],
  );
  return new AppError('invalid_request', 'The event names webhooks that do not exist: see "errors".', {
    validationErrors,
  });
}

interface EndpointRecords {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
}

/** @throws AppError `not_found`, also for another account's endpoint. */
export async function readEndpoint(
  { endpointStore }: EndpointRecords,
  accountId: AccountId,
  ref: EndpointRef,
): Promise<Endpoint> {
  const id = await endpointStore.idOf(accountId, ref);
  return mustExist(id && (await endpointStore.find(accountId, id)));
}

/**
 * Give the id of an existing endpoint, to read or change data below it.
 *
 * @throws AppError `not_found` when the account has no such endpoint.
 */
export async function requireEndpoint(
  records: EndpointRecords,
  accountId: AccountId,
  ref: EndpointRef,
): Promise<EndpointId> {
  return (await readEndpoint(records, accountId, ref)).id;
}

/** A listener that is asleep has to be created again. @throws AppError `not_found`. */
export function mustExist(endpoint: Endpoint | undefined): Endpoint {
  if (!endpoint || isAsleep(endpoint)) throw endpointNotFound();
  return endpoint;
}
