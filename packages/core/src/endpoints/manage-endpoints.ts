import type { DeliveryStore } from '../deliveries/redis-delivery-store';
import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { WakeQueue } from '../gates/hold';
import type { BreakerStore } from '../gates/redis-breaker-store';
import type { RemoveGate } from '../gates/redis-remove-gate';
import type { TurnStore } from '../gates/redis-turn-store';
import type { Clock } from '../runtime/clock';
import type { NewId } from '../runtime/ids';
import { disableEndpoint, enableEndpoint, updateTime } from './change-status';
import { ENDPOINT_ID_PREFIX, type Endpoint, type EndpointId, endpointSchema } from './endpoint';
import type { EndpointPatch, NewEndpoint } from './endpoint-input';
import type { EndpointPage, EndpointStore } from './redis-endpoint-store';

export interface ManageEndpointsDeps {
  readonly endpointStore: EndpointStore;
  readonly deliveryStore: Pick<DeliveryStore, 'removeAll'>;
  readonly breakerStore: Pick<BreakerStore, 'closeBreaker'>;
  readonly turnStore: Pick<TurnStore, 'clear'>;
  readonly removeGate: RemoveGate;
  readonly wakeQueue: WakeQueue;
  readonly newId: NewId;
  readonly newSecret: () => string;
  readonly clock: Clock;
}

/** What a client can do with its endpoints. Every change is in force once its promise has resolved. */
export function createManageEndpoints(deps: ManageEndpointsDeps) {
  const {
    endpointStore,
    deliveryStore,
    breakerStore,
    turnStore,
    removeGate,
    wakeQueue,
    newId,
    newSecret,
    clock,
  } = deps;

  // A turn from before has no meaning any more, and those that wait may go by other rules now.
  async function reopenGate(before: Endpoint, { accountId, id, ordering }: Endpoint): Promise<void> {
    if (before.ordering !== ordering) await turnStore.clear(id);
    await wakeQueue.wake(accountId, id, clock());
  }

  return {
    async create(accountId: AccountId, input: NewEndpoint): Promise<Endpoint> {
      const now = clock();
      const endpoint = mergeInto(
        {
          id: newId(ENDPOINT_ID_PREFIX) as EndpointId,
          accountId,
          secret: newSecret(),
          createdAt: now,
          updatedAt: now,
        },
        input,
      );
      await endpointStore.create(endpoint);
      return endpoint;
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
      let before: Endpoint | undefined;
      const after = found(
        await endpointStore.update(accountId, id, (endpoint) => {
          before = endpoint;
          return applyPatch(endpoint, patch, clock());
        }),
      );
      if (before && !hasSameGate(before, after)) await reopenGate(before, after);
      return after;
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
      await breakerStore.closeBreaker(id);
      await wakeQueue.wake(accountId, id, clock());
      return enabled;
    },

    /** Nothing that is published afterwards is sent to it, and what was still pending is cancelled. */
    async remove(accountId: AccountId, id: EndpointId): Promise<void> {
      if (!(await endpointStore.remove(accountId, id))) throw endpointNotFound();
      await Promise.all([deliveryStore.removeAll(id), removeGate(id)]);
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

function hasSameGate(one: Endpoint, other: Endpoint): boolean {
  return one.ordering === other.ordering && one.rateLimit === other.rateLimit;
}

// RFC 7396 of one level: what is left out stays, null removes.
function mergeInto(base: Partial<Endpoint>, patch: EndpointPatch): Endpoint {
  const said = Object.entries(patch).filter(([, value]) => value !== undefined);
  const merged = Object.entries({ ...base, ...Object.fromEntries(said) });
  return endpointSchema.parse(Object.fromEntries(merged.filter(([, value]) => value !== null)));
}
