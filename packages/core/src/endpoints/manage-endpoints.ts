import type { DeliveryStore } from '../deliveries/redis-delivery-store';
import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { WakeQueue } from '../gates/hold';
import type { GateStore } from '../gates/redis-gate-store';
import type { Clock } from '../runtime/clock';
import type { NewId } from '../runtime/ids';
import { disableEndpoint, enableEndpoint, updateTime } from './change-status';
import { ENDPOINT_ID_PREFIX, type Endpoint, type EndpointId, endpointSchema } from './endpoint';
import type { EndpointPatch, NewEndpoint } from './endpoint-input';
import type { EndpointPage, EndpointStore } from './redis-endpoint-store';

export interface ManageEndpointsDeps {
  readonly endpointStore: EndpointStore;
  readonly deliveryStore: Pick<DeliveryStore, 'removeAll'>;
  readonly gateStore: Pick<GateStore, 'closeBreaker' | 'removeAll'>;
  readonly wakeQueue: WakeQueue;
  readonly newId: NewId;
  readonly newSecret: () => string;
  readonly clock: Clock;
}

/** What a client can do with its endpoints. Every change is in force once its promise has resolved. */
export function createManageEndpoints(deps: ManageEndpointsDeps) {
  const { endpointStore, deliveryStore, gateStore, wakeQueue, newId, newSecret, clock } = deps;

  return {
    /** Creating one under the same id again gives the one that is there. */
    async create(
      accountId: AccountId,
      input: NewEndpoint,
      id = newId(ENDPOINT_ID_PREFIX) as EndpointId,
    ): Promise<Endpoint> {
      const now = clock();
      const endpoint = mergeInto(
        {
          id,
          accountId,
          secret: newSecret(),
          createdAt: now,
          updatedAt: now,
        },
        input,
      );
      const isNew = await endpointStore.create(endpoint);
      return isNew ? endpoint : found(await endpointStore.find(accountId, id));
    },

    /** @throws AppError `not_found`, also for another account's endpoint. */
    async read(accountId: AccountId, id: EndpointId): Promise<Endpoint> {
      return found(await endpointStore.find(accountId, id));
    },

    list(accountId: AccountId, limit: number, before?: EndpointId): Promise<EndpointPage> {
      return endpointStore.list(accountId, limit, before);
    },

    /** @throws AppError `not_found`. */
    async update(accountId: AccountId, id: EndpointId, patch: EndpointPatch): Promise<Endpoint> {
      return found(
        await endpointStore.update(accountId, id, (endpoint) => applyPatch(endpoint, patch, clock())),
      );
    },

    /** What it was owed and is owed from now on is held until it is enabled. @throws AppError `not_found`. */
    async disable(accountId: AccountId, id: EndpointId): Promise<Endpoint> {
      return found(
        await endpointStore.update(accountId, id, (endpoint) => disableEndpoint(endpoint, 'client', clock())),
      );
    },

    /** What was held flows at once, whatever the breaker thought of the receiver. @throws AppError `not_found`. */
    async enable(accountId: AccountId, id: EndpointId): Promise<Endpoint> {
      const enabled = found(
        await endpointStore.update(accountId, id, (endpoint) => enableEndpoint(endpoint, clock())),
      );
      await gateStore.closeBreaker(id);
      await wakeQueue.wake(accountId, id, clock());
      return enabled;
    },

    /** Nothing that is published afterwards is sent to it, and what was still pending is cancelled. */
    async remove(accountId: AccountId, id: EndpointId): Promise<void> {
      if (!(await endpointStore.remove(accountId, id))) throw endpointNotFound();
      await Promise.all([deliveryStore.removeAll(id), gateStore.removeAll(id)]);
    },
  };
}

export type ManageEndpoints = ReturnType<typeof createManageEndpoints>;

export function endpointNotFound(): AppError {
  return new AppError('not_found', 'There is no webhook with this id.');
}

function found(endpoint: Endpoint | undefined): Endpoint {
  if (!endpoint) throw endpointNotFound();
  return endpoint;
}

function applyPatch(endpoint: Endpoint, patch: EndpointPatch, now: number): Endpoint {
  return mergeInto({ ...endpoint, updatedAt: updateTime(endpoint, now) }, patch);
}

// RFC 7396 of one level: what is left out stays, null removes.
function mergeInto(base: Partial<Endpoint>, patch: EndpointPatch): Endpoint {
  const said = Object.entries(patch).filter(([, value]) => value !== undefined);
  const merged = Object.entries({ ...base, ...Object.fromEntries(said) });
  return endpointSchema.parse(Object.fromEntries(merged.filter(([, value]) => value !== null)));
}
