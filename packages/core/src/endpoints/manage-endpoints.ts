import type { AccountStore } from '../accounts/redis-account-store';
import { type AccountId, accountNotFound, isThere } from '../domain/account';
import {
  ENDPOINT_ID_PREFIX,
  type Endpoint,
  type EndpointId,
  type EndpointRef,
  endpointNotFound,
  isAsleep,
  newestSecret,
} from '../domain/endpoint';
import type { Emit } from '../domain/signal';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { AppError, invalidRequest } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { NewId } from '../platform/ids';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { type Disable, enableEndpoint, updateTime } from './disable';
import {
  type EndpointPatch,
  mergeEndpoint,
  movedSecrets,
  type NewEndpoint,
  requireVersion,
} from './endpoint-input';
import { matchesType, type RequireKnownFilters } from './filters/event-filters';
import type { AdmissionStore } from './flow/redis-admission-store';
import type { HealthStore } from './health/redis-health-store';
import { type RaiseEvents, webhookDisabledEvent } from './operational-events';
import type { EndpointPage, EndpointStore } from './redis-endpoint-store';
import { ROTATION_ID_PREFIX, rotateSecret, type SecretRotation } from './rotate-secret';
import type { Subscriber } from './stored-endpoint';

export interface ManageEndpointsDeps {
  readonly endpointStore: EndpointStore;
  readonly accountStore: Pick<AccountStore, 'find'>;
  readonly deliveryStore: Pick<DeliveryStore, 'removeAll'>;
  readonly healthStore: Pick<HealthStore, 'remove'>;
  readonly admissionStore: Pick<AdmissionStore, 'closeBreaker' | 'clearOrder' | 'joinOrder' | 'remove'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'askForWakeUp' | 'pagesOf'>;
  readonly requireKnownFilters: RequireKnownFilters;
  readonly newId: NewId;
  readonly newSecret: () => string;
  /** Endpoints that an account may have. */
  readonly maxEndpoints: number;
  readonly clock: Clock;
  readonly disable: Disable;
  readonly raise: RaiseEvents;
  readonly emit: Emit;
}

/** What a change is bound to. */
export interface UpdateBounds {
  /** The versions that it is meant for, as `versionOf` gives them; left out: whichever there is. */
  readonly versions?: readonly string[] | undefined;
  /** Whether it may take secrets of the endpoint along when it changes where requests go. Left out: no. */
  readonly mayMoveSecrets?: boolean;
}

export interface Rotated {
  readonly secret: string;
  readonly previousExpiresAt: number;
}

// So long may it take to change an endpoint's record.
const CHANGE_MS = 3_000;

/** What a client can do with its endpoints. Every change is in force once its promise has resolved. */
export function createManageEndpoints(deps: ManageEndpointsDeps) {
  const { endpointStore, accountStore, deliveryStore, healthStore, admissionStore, heldDeliveries } = deps;
  const { requireKnownFilters, newId, newSecret, maxEndpoints, clock } = deps;
  const { disable, raise, emit } = deps;

  // An order from before has no meaning any more, and what is held may go by other rules now.
  async function applyLimits(before: Endpoint, { accountId, id, ordering }: Endpoint): Promise<void> {
    if (before.ordering !== ordering) await changeOrder(id, ordering);
    await heldDeliveries.askForWakeUp({ accountId, endpointId: id }, clock());
  }

  // What is held takes its place; what is under way, or waits for its next attempt, does when it is asked again.
  async function changeOrder(id: EndpointId, ordering: Endpoint['ordering']): Promise<void> {
    await admissionStore.clearOrder(id);
    if (ordering !== 'strict') return;
    for await (const held of heldDeliveries.pagesOf(id)) await admissionStore.joinOrder(id, held);
  }

  async function idOf(accountId: AccountId, ref: EndpointRef): Promise<EndpointId> {
    const id = await endpointStore.idOf(accountId, ref);
    if (id === undefined) throw endpointNotFound();
    return id;
  }

  async function change(accountId: AccountId, ref: EndpointRef, how: (endpoint: Endpoint) => Endpoint) {
    const id = await idOf(accountId, ref);
    return mustExist(await endpointStore.update(accountId, id, (endpoint) => how(mustExist(endpoint))));
  }

  return {
    /**
     * Creating one under the same id again gives the one that is there.
     *
     * @throws AppError `conflict` when its uid is taken, `limit_reached`, `invalid_request`, also for events that there
     *   are none of, and for TLS material that doesn't go together; `not_found` when the account is gone, or being erased.
     */
    async create(
      accountId: AccountId,
      input: NewEndpoint & Pick<Endpoint, 'listener'>,
      id = newId(ENDPOINT_ID_PREFIX) as EndpointId,
    ): Promise<Endpoint> {
      await requireKnownFilters(input.events);
      const now = clock();
      const { secret = newSecret(), status, ...rest } = input;
      const endpoint = mergeEndpoint(
        {
          id,
          accountId,
          enabledAt: now,
          ...(status === 'disabled'
            ? { status, disabledReason: input.listener ? 'disconnected' : 'client' }
            : {}),
          secrets: [{ secret, createdAt: now }],
          createdAt: now,
          updatedAt: now,
        },
        rest,
        now,
      );
      const isNew = await endpointStore.create(endpoint, maxEndpoints);
      // Only now: whoever erases the account first marks it and then removes its endpoints, so one of both sees this one.
      // Of a slow request it may be long gone.
      if (!isThere(await accountStore.find(accountId))) {
        await endpointStore.takeBack(accountId, id);
        throw accountNotFound();
      }
      if (!isNew) return mustExist(await endpointStore.find(accountId, id));
      emit({ name: 'endpoint.created', accountId, endpointId: id });
      return endpoint;
    },

    /** @throws AppError `not_found`, also for another account's endpoint. */
    async read(accountId: AccountId, ref: EndpointRef): Promise<Endpoint> {
      return mustExist(await endpointStore.find(accountId, await idOf(accountId, ref)));
    },

    /** Newest first. */
    async list(
      accountId: AccountId,
      filter: EndpointFilter,
      limit: number,
      before?: EndpointId,
    ): Promise<EndpointPage> {
      const page = await listMatching(endpointStore, accountId, filter, limit, before);
      return { ...page, endpoints: page.endpoints.filter((endpoint) => !isAsleep(endpoint)) };
    },

    /**
     * @throws AppError `not_found`, `precondition_failed`, `conflict` when its new uid is taken, `invalid_request` as above,
     *   and for secrets that it may not move.
     */
    async update(
      accountId: AccountId,
      ref: EndpointRef,
      patch: EndpointPatch,
      bounds: UpdateBounds = {},
    ): Promise<Endpoint> {
      if (patch.events) await requireKnownFilters(patch.events);
      let before: Endpoint | undefined;
      const after = await change(accountId, ref, (endpoint) => {
        before = endpoint;
        return applyPatch(requireVersion(endpoint, bounds.versions), patch, bounds, clock());
      });
      if (before && !hasSameLimits(before, after)) await applyLimits(before, after);
      emit({ name: 'endpoint.updated', accountId, endpointId: after.id });
      return after;
    },

    /**
     * Gives it a new secret; until the time that is returned, the ones so far sign as well. Repeating a rotation gives
     * the secret that it made.
     *
     * @throws AppError `not_found`, `invalid_request` for a secret that signs already, `conflict` when too many do.
     */
    async rotateSecret(
      accountId: AccountId,
      ref: EndpointRef,
      { secret = newSecret(), overlapMs }: SecretRotation,
      rotation = newId(ROTATION_ID_PREFIX),
    ): Promise<Rotated> {
      const rotated = await change(accountId, ref, (endpoint) =>
        rotateSecret(endpoint, { secret, overlapMs, rotation }, clock()),
      );
      emit({ name: 'endpoint.updated', accountId, endpointId: rotated.id });
      const made = rotated.secrets.find((each) => each.rotation === rotation) ?? newestSecret(rotated);
      return { secret: made.secret, previousExpiresAt: made.createdAt + overlapMs };
    },

    /** What it was owed and is owed from now on is held until it is enabled. @throws AppError `not_found`. */
    async disable(accountId: AccountId, ref: EndpointRef): Promise<Endpoint> {
      const { endpoint, hasChanged } = await disable(accountId, await idOf(accountId, ref), 'client');
      const disabled = mustExist(endpoint);
      if (hasChanged) raise(accountId, [webhookDisabledEvent(disabled, 'client', clock())]);
      return disabled;
    },

    /**
     * What was held flows at once, whatever the breaker thought of the receiver.
     *
     * @throws AppError `not_found`, `conflict` for a listener that is not connected.
     */
    async enable(accountId: AccountId, ref: EndpointRef): Promise<Endpoint> {
      const { id: endpointId, listener } = mustExist(
        await endpointStore.find(accountId, await idOf(accountId, ref)),
      );
      if (listener && listener.stream === undefined) throw nobodyListens();
      // Asked for first: it comes also if this process ends right after the change.
      await heldDeliveries.askForWakeUp({ accountId, endpointId }, clock() + CHANGE_MS);
      const enabled = await change(accountId, endpointId, (endpoint) => enableEndpoint(endpoint, clock()));
      await admissionStore.closeBreaker(endpointId);
      await heldDeliveries.askForWakeUp({ accountId, endpointId }, clock());
      emit({ name: 'endpoint.enabled', accountId, endpointId });
      return enabled;
    },

    /** Nothing that is published afterwards is sent to it, and what was still pending is cancelled. */
    async remove(accountId: AccountId, ref: EndpointRef): Promise<void> {
      const id = await idOf(accountId, ref);
      if (!(await endpointStore.remove(accountId, id))) throw endpointNotFound();
      await Promise.all([deliveryStore.removeAll(id), admissionStore.remove(id), healthStore.remove(id)]);
      // What is held is released, and ends as cancelled.
      await heldDeliveries.askForWakeUp({ accountId, endpointId: id }, clock());
      emit({ name: 'endpoint.deleted', accountId, endpointId: id });
    },
  };
}

export type ManageEndpoints = ReturnType<typeof createManageEndpoints>;

function nobodyListens(): AppError {
  return new AppError(
    'conflict',
    'Nobody is connected to this listener. It is enabled as soon as somebody is.',
  );
}

// A listener that is asleep comes back by being made anew.
function mustExist(endpoint: Endpoint | undefined): Endpoint {
  if (!endpoint || isAsleep(endpoint)) throw endpointNotFound();
  return endpoint;
}

function applyPatch(
  endpoint: Endpoint,
  patch: EndpointPatch,
  { mayMoveSecrets = false }: UpdateBounds,
  now: number,
): Endpoint {
  const changed = mergeEndpoint({ ...endpoint, updatedAt: updateTime(endpoint, now) }, patch, now);
  const moved = mayMoveSecrets ? [] : movedSecrets(endpoint, changed, patch);
  if (moved.length > 0) throw invalidRequest(moved);
  return changed;
}

function hasSameLimits(one: Endpoint, other: Endpoint): boolean {
  return one.ordering === other.ordering && one.rateLimit === other.rateLimit;
}

/** What an endpoint must be to be listed. */
export interface EndpointFilter {
  readonly status?: Endpoint['status'] | undefined;
  /** It asked for events of this type. */
  readonly eventType?: string | undefined;
}

const READ_AT_ONCE = 250;

/** A page of an account's endpoints, newest first. The records of those that do not match are not read. */
export async function listMatching(
  endpointStore: Pick<EndpointStore, 'list' | 'findAll' | 'listSubscribersByPage'>,
  accountId: AccountId,
  filter: EndpointFilter,
  limit: number,
  before?: EndpointId,
): Promise<EndpointPage> {
  if (filter.status === undefined && filter.eventType === undefined) {
    return await endpointStore.list(accountId, limit, before);
  }
  const found: EndpointId[] = [];
  let cursor = before;
  do {
    const page = await endpointStore.listSubscribersByPage(accountId, READ_AT_ONCE, cursor);
    found.push(...page.subscribers.filter((one) => matches(one, filter)).map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length <= limit);
  const ids = found.slice(0, limit);
  const endpoints = await endpointStore.findAll(accountId, ids);
  return {
    // One may have changed meanwhile.
    endpoints: endpoints.filter((endpoint) => matches(endpoint, filter)),
    nextCursor: found.length > limit ? ids.at(-1) : undefined,
  };
}

function matches({ status, events }: Subscriber, filter: EndpointFilter): boolean {
  if (filter.status !== undefined && filter.status !== status) return false;
  const { eventType } = filter;
  return eventType === undefined || events.some((asked) => matchesType(asked, eventType));
}
