import type { DeliveryStore } from '../deliveries/redis-delivery-store';
import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { WakeQueue } from '../gates/hold';
import type { GateStore } from '../gates/redis-gate-store';
import type { Clock } from '../runtime/clock';
import type { NewId } from '../runtime/ids';
import { disableEndpoint, enableEndpoint, updateTime } from './change-status';
import { MAX_HEADERS } from './custom-headers';
import {
  ENDPOINT_ID_PREFIX,
  type Endpoint,
  type EndpointId,
  type EndpointRef,
  endpointSchema,
} from './endpoint';
import type { EndpointPatch, NewEndpoint } from './endpoint-input';
import { requireVersion } from './endpoint-version';
import { type EndpointFilter, listMatching } from './list-matching';
import { mergePatch } from './merge-patch';
import { MAX_METADATA } from './metadata';
import type { EndpointStore } from './redis-endpoint-store';

export interface ManageEndpointsDeps {
  readonly endpointStore: EndpointStore;
  readonly deliveryStore: Pick<DeliveryStore, 'removeAll'>;
  readonly gateStore: Pick<GateStore, 'closeBreaker' | 'removeAll'>;
  readonly wakeQueue: WakeQueue;
  readonly newId: NewId;
  readonly newSecret: () => string;
  /** Endpoints that an account may have. */
  readonly maxEndpoints: number;
  readonly clock: Clock;
}

/** What a client can do with its endpoints. Every change is in force once its promise has resolved. */
export function createManageEndpoints(deps: ManageEndpointsDeps) {
  const { endpointStore, deliveryStore, gateStore, wakeQueue, newId, newSecret, maxEndpoints, clock } = deps;

  async function idOf(accountId: AccountId, ref: EndpointRef): Promise<EndpointId> {
    const id = await endpointStore.idOf(accountId, ref);
    if (id === undefined) throw endpointNotFound();
    return id;
  }

  async function change(accountId: AccountId, ref: EndpointRef, how: (endpoint: Endpoint) => Endpoint) {
    return found(await endpointStore.update(accountId, await idOf(accountId, ref), how));
  }

  return {
    /** @throws AppError `conflict` when its uid is taken, `limit_reached`, `invalid_request`. */
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
      await endpointStore.create(endpoint, maxEndpoints);
      return endpoint;
    },

    /** @throws AppError `not_found`, also for another account's endpoint. */
    async read(accountId: AccountId, ref: EndpointRef): Promise<Endpoint> {
      return found(await endpointStore.find(accountId, await idOf(accountId, ref)));
    },

    /** Newest first. */
    list(accountId: AccountId, filter: EndpointFilter, limit: number, before?: EndpointId) {
      return listMatching(endpointStore, accountId, filter, limit, before);
    },

    /**
     * @param versions those that the change is meant for, as `versionOf` gives them; left out: whichever there is.
     * @throws AppError `not_found`, `precondition_failed`, `conflict` when its new uid is taken, `invalid_request`.
     */
    update(
      accountId: AccountId,
      ref: EndpointRef,
      patch: EndpointPatch,
      versions?: readonly string[],
    ): Promise<Endpoint> {
      return change(accountId, ref, (endpoint) =>
        applyPatch(requireVersion(endpoint, versions), patch, clock()),
      );
    },

    /** What it was owed and is owed from now on is held until it is enabled. @throws AppError `not_found`. */
    disable(accountId: AccountId, ref: EndpointRef): Promise<Endpoint> {
      return change(accountId, ref, (endpoint) => disableEndpoint(endpoint, 'client', clock()));
    },

    /** What was held flows at once, whatever the breaker thought of the receiver. @throws AppError `not_found`. */
    async enable(accountId: AccountId, ref: EndpointRef): Promise<Endpoint> {
      const enabled = await change(accountId, ref, (endpoint) => enableEndpoint(endpoint, clock()));
      await gateStore.closeBreaker(enabled.id);
      await wakeQueue.wake(accountId, enabled.id, clock());
      return enabled;
    },

    /** Nothing that is published afterwards is sent to it, and what was still pending is cancelled. */
    async remove(accountId: AccountId, ref: EndpointRef): Promise<void> {
      const id = await idOf(accountId, ref);
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

function mergeInto(base: Partial<Endpoint>, patch: EndpointPatch): Endpoint {
  return requireBounds(endpointSchema.parse(mergePatch(base, patch)));
}

// What a patch adds to can only be counted once it is merged.
function requireBounds(endpoint: Endpoint): Endpoint {
  const bounds = { metadata: MAX_METADATA, headers: MAX_HEADERS };
  const faults = Object.entries(bounds)
    .filter(([member, most]) => Object.keys(endpoint[member as keyof typeof bounds] ?? {}).length > most)
    .map(([member, most]) => ({ pointer: `/${member}`, detail: `must have at most ${most} members` }));
  if (faults.length === 0) return endpoint;
  throw new AppError('invalid_request', 'The request is not valid: see "errors".', { faults });
}
