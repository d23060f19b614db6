import type { DeliveryStore } from '../deliveries/redis-delivery-store';
import { AppError } from '../errors/app-error';
import type { AccountId } from '../events/event';
import type { WakeQueue } from '../gates/hold';
import type { BreakerStore } from '../gates/redis-breaker-store';
import type { RemoveGate } from '../gates/redis-remove-gate';
import type { TurnStore } from '../gates/redis-turn-store';
import { webhookDisabledEvent } from '../operational-events/events-of-attempt';
import type { RaiseEvents } from '../operational-events/operational-events';
import type { Clock } from '../runtime/clock';
import type { NewId } from '../runtime/ids';
import { enableEndpoint, updateTime } from './change-status';
import { checkTls } from './check-tls';
import type { Disable } from './disable';
import { ENDPOINT_ID_PREFIX, type Endpoint, type EndpointId, endpointSchema } from './endpoint';
import type { EndpointPatch, NewEndpoint } from './endpoint-input';
import { newestSecret } from './endpoint-secrets';
import { mergePatch } from './merge-patch';
import type { EndpointPage, EndpointStore } from './redis-endpoint-store';
import type { HealthStore } from './redis-health-store';
import { rotateSecret, type SecretRotation } from './rotate-secret';

export interface ManageEndpointsDeps {
  readonly endpointStore: EndpointStore;
  readonly deliveryStore: Pick<DeliveryStore, 'removeAll'>;
  readonly healthStore: Pick<HealthStore, 'remove'>;
  readonly breakerStore: Pick<BreakerStore, 'closeBreaker'>;
  readonly turnStore: Pick<TurnStore, 'clear'>;
  readonly removeGate: RemoveGate;
  readonly wakeQueue: WakeQueue;
  readonly newId: NewId;
  readonly newSecret: () => string;
  readonly clock: Clock;
  readonly disable: Disable;
  readonly raise: RaiseEvents;
}

export interface Rotated {
  readonly secret: string;
  readonly previousExpiresAt: number;
}

/** What a client can do with its endpoints. Every change is in force once its promise has resolved. */
export function createManageEndpoints(deps: ManageEndpointsDeps) {
  const { endpointStore, deliveryStore, breakerStore, turnStore, healthStore } = deps;
  const { removeGate, wakeQueue, newId, newSecret, clock, disable, raise } = deps;

  // A turn from before has no meaning any more, and those that wait may go by other rules now.
  async function reopenGate(before: Endpoint, { accountId, id, ordering }: Endpoint): Promise<void> {
    if (before.ordering !== ordering) await turnStore.clear(id);
    await wakeQueue.wake(accountId, id, clock());
  }

  return {
    /** @throws AppError `invalid_request` for TLS material that doesn't go together. */
    async create(accountId: AccountId, input: NewEndpoint): Promise<Endpoint> {
      const now = clock();
      const { secret = newSecret(), ...rest } = input;
      const endpoint = mergeInto(
        {
          id: newId(ENDPOINT_ID_PREFIX) as EndpointId,
          accountId,
          enabledAt: now,
          secrets: [{ secret, createdAt: now }],
          createdAt: now,
          updatedAt: now,
        },
        rest,
        now,
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

    /** @throws AppError `not_found`, `invalid_request` as above. */
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

    /**
     * Gives it a new secret; until the time that is returned, the ones so far sign as well.
     *
     * @throws AppError `not_found`, `invalid_request` for a secret that signs already, `conflict` when too many do.
     */
    async rotateSecret(accountId: AccountId, id: EndpointId, rotation: SecretRotation): Promise<Rotated> {
      const { secret = newSecret(), overlapMs } = rotation;
      const rotated = found(
        await endpointStore.update(accountId, id, (endpoint) =>
          rotateSecret(endpoint, { secret, overlapMs }, clock()),
        ),
      );
      return { secret, previousExpiresAt: newestSecret(rotated).createdAt + overlapMs };
    },

    /** What it was owed and is owed from now on is held until it is enabled. @throws AppError `not_found`. */
    async disable(accountId: AccountId, id: EndpointId): Promise<Endpoint> {
      const { endpoint, hasChanged } = await disable(accountId, id, 'client');
      const disabled = found(endpoint);
      if (hasChanged) raise(accountId, [webhookDisabledEvent(disabled, 'client', clock())]);
      return disabled;
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
      await Promise.all([deliveryStore.removeAll(id), removeGate(id), healthStore.remove(id)]);
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
  return mergeInto({ ...endpoint, updatedAt: updateTime(endpoint, now) }, patch, now);
}

function hasSameGate(one: Endpoint, other: Endpoint): boolean {
  return one.ordering === other.ordering && one.rateLimit === other.rateLimit;
}

function mergeInto(base: Partial<Endpoint>, patch: EndpointPatch, now: number): Endpoint {
  const { tls, ...merged } = endpointSchema.parse(mergePatch(base, patch));
  if (tls === undefined || Object.keys(tls).length === 0) return merged;
  // Only what is changed: a certificate that expires later must not stand in the way of other changes.
  if (patch.tls) checkTls(tls, now);
  return { ...merged, tls };
}
