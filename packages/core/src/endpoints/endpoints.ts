import type { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import type { AccountStore } from '../accounts/redis-account-store';
import { type AccountId, accountNotFound, isThere } from '../domain/account';
import type { Act } from '../domain/audit';
import {
  type Endpoint,
  type EndpointId,
  type EndpointRef,
  endpointNotFound,
  isAsleep,
  newestSecret,
} from '../domain/endpoint';
import type { Emit } from '../domain/signal';
import { hostOf } from '../domain/target-url';
import { lacksProof } from '../domain/verification';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import type { AdmissionStore } from './admission/redis-admission-store';
import type { BesideLanes } from './admission/redis-beside-lanes';
import { asEnabled, disable } from './disable';
import { type EndpointPatch, requireVersion } from './endpoint-input';
import {
  applyPatch,
  type EndpointFilter,
  type EndpointInput,
  hasSameLimits,
  matchesFilter,
  matchesSearch,
  newEndpoint,
} from './endpoint-rules';
import { requireKnownFilters } from './filters/event-filters';
import type { HealthStore } from './health/redis-health-store';
import { type OperationalEvents, webhookDisabledEvent } from './operational-events';
import type { EndpointPage, EndpointStore } from './redis-endpoint-store';
import type { TransformationStore } from './redis-transformation-store';
import { mustExist, readEndpoint } from './resolve-endpoints';
import { newSecret, rotateSecret, type SecretRotation } from './rotate-secret';
import type { SigningKeys } from './signing-keys/signing-keys';
import { ASKED_AN_HOUR, type VerificationStore } from './verification/redis-verification-store';
import {
  CHANGE_MS,
  type VerificationDemand,
  type VerificationPolicy,
  withAnotherTry,
  withVerification,
} from './verification/verify';
import type { WaitingDeliveries } from './waiting-deliveries';

export interface EndpointsParts {
  readonly endpointStore: EndpointStore;
  readonly accountStore: AccountStore;
  readonly eventTypeStore: EventTypeStore;
  readonly signingKeys: SigningKeys;
  readonly verificationPolicy: VerificationPolicy;
  readonly verificationStore: VerificationStore;
  readonly admissionStore: AdmissionStore;
  readonly besideLanes: BesideLanes;
  readonly healthStore: HealthStore;
  readonly transformationStore: TransformationStore;
  readonly deliveryStore: DeliveryStore;
  readonly heldDeliveries: HeldDeliveries;
  readonly waitingDeliveries: WaitingDeliveries;
  readonly operationalEvents: OperationalEvents;
  /** The most endpoints of an account. */
  readonly maxEndpoints: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The conditions of a change. */
export interface UpdateBounds {
  /** The versions that it is meant for, as `versionOf` gives them; absent: any version. */
  readonly versions?: readonly string[] | undefined;
  /**
   * Whether the endpoint keeps its secrets when the change moves its requests to another place. Absent: no.
   */
  readonly mayMoveSecrets?: boolean;
  /** Absent: the change is on no record. */
  readonly act?: Act;
}

export interface Rotated {
  readonly secret: string;
  readonly previousExpiresAt: number;
}

const READ_AT_ONCE = 250;
const DISABLED_FOR_FAILURES = new Set<Endpoint['disabledReason']>(['failing', 'gone', 'receiver']);
const NO_DEMAND: VerificationDemand = { method: undefined, isRequired: false };

/** The endpoints of accounts. Each change is in force once its promise has resolved. */
export class Endpoints {
  constructor(private readonly parts: EndpointsParts) {}

  /**
   * Creating one under the same id again gives the existing one.
   *
   * @throws AppError `conflict` when its uid is taken, `limit_reached`, `invalid_request`, also for unknown
   *   event types, and for TLS material that doesn't go together; `not_found` when the account is gone, or
   *   being erased.
   */
  async create(accountId: AccountId, input: EndpointInput, id: EndpointId, act?: Act): Promise<Endpoint> {
    const { endpointStore, signingKeys, verificationPolicy, verificationStore, accountStore } = this.parts;
    const { maxEndpoints, clock, emit } = this.parts;
    await requireKnownFilters(this.parts, input.events);
    const now = clock();
    const signing = input.signing ?? (await this.#defaultSigningOf(accountId, input));
    if (signing !== 'hmac') await signingKeys.ensure(accountId);
    const merged = newEndpoint(accountId, id, input, signing, now);
    const demand = await verificationPolicy.demandOf(accountId, input.verification);
    const endpoint = withVerification(undefined, merged, demand, now);
    const isToVerify = lacksProof(endpoint);
    // Ask first: the try comes even if this process ends right after the endpoint is there.
    if (isToVerify) await verificationStore.ask({ accountId, endpointId: id }, now + CHANGE_MS);
    const isNew = await endpointStore.create(endpoint, maxEndpoints, act);
    // Check only now: an erasure first marks the account and then removes its endpoints, so one of the two sees
    // this endpoint. During a slow request the account may be long gone.
    if (!isThere(await accountStore.find(accountId))) {
      await endpointStore.takeBack(accountId, id);
      await signingKeys.remove(accountId);
      throw accountNotFound(accountId);
    }
    if (!isNew) return mustExist(await endpointStore.find(accountId, id));
    if (isToVerify) await verificationStore.ask({ accountId, endpointId: id }, now);
    emit({ name: 'endpoint.created', accountId, endpointId: id });
    return endpoint;
  }

  /** A listener has no choice: `hookferry listen` verifies by the secret. */
  async #defaultSigningOf(accountId: AccountId, { listener }: EndpointInput): Promise<Endpoint['signing']> {
    const account = listener ? undefined : await this.parts.accountStore.find(accountId);
    return account?.defaultSigning ?? 'hmac';
  }

  /** @throws AppError `not_found`, also for another account's endpoint. */
  async read(accountId: AccountId, ref: EndpointRef): Promise<Endpoint> {
    return await readEndpoint(this.parts, accountId, ref);
  }

  /** A page of an account's endpoints, newest first. */
  async list(
    accountId: AccountId,
    filter: EndpointFilter,
    limit: number,
    before?: EndpointId,
  ): Promise<EndpointPage> {
    const page = await this.#listMatching(accountId, filter, limit, before);
    return { ...page, endpoints: page.endpoints.filter((endpoint) => !isAsleep(endpoint)) };
  }

  /** Records that do not match are not read. */
  async #listMatching(
    accountId: AccountId,
    filter: EndpointFilter,
    limit: number,
    before: EndpointId | undefined,
  ): Promise<EndpointPage> {
    const { endpointStore } = this.parts;
    if (Object.values(filter).every((wanted) => wanted === undefined)) {
      return await endpointStore.list(accountId, limit, before);
    }
    const found: EndpointId[] = [];
    let cursor = before;
    do {
      const page = await endpointStore.listSubscribersByPage(accountId, READ_AT_ONCE, cursor);
      const ids = page.subscribers.filter((one) => matchesFilter(one, filter)).map(({ id }) => id);
      found.push(...(await this.#matchingRecords(accountId, ids, filter)));
      cursor = page.nextCursor;
    } while (cursor !== undefined && found.length <= limit);
    const ids = found.slice(0, limit);
    const endpoints = await endpointStore.findAll(accountId, ids);
    return {
      // One may have changed meanwhile.
      endpoints: endpoints.filter((endpoint) => matchesFilter(endpoint, filter)),
      nextCursor: found.length > limit ? ids.at(-1) : undefined,
    };
  }

  /** Those of the ids that match what only the records, and the attempts, tell. */
  async #matchingRecords(
    accountId: AccountId,
    ids: readonly EndpointId[],
    { search, isFailing }: EndpointFilter,
  ): Promise<readonly EndpointId[]> {
    if (search === undefined && isFailing === undefined) return ids;
    const endpoints = await this.parts.endpointStore.findAll(accountId, ids);
    const matching = endpoints.filter((one) => search === undefined || matchesSearch(one, search));
    if (isFailing === undefined) return matching.map(({ id }) => id);
    // All commands are sent at once.
    const failing = await Promise.all(matching.map((endpoint) => this.#isFailing(endpoint)));
    return matching.flatMap(({ id }, i) => (failing[i] === isFailing ? [id] : []));
  }

  async #isFailing({ id, status, disabledReason }: Endpoint): Promise<boolean> {
    if (status === 'disabled') return DISABLED_FOR_FAILURES.has(disabledReason);
    return (await this.parts.admissionStore.readBreaker(id)).failures > 0;
  }

  /**
   * @throws AppError `not_found`, `precondition_failed`, `conflict` when its new uid is taken,
   *   `invalid_request` as for a new one, and for secrets that it may not move.
   */
  async update(
    accountId: AccountId,
    ref: EndpointRef,
    { verification: method, ...patch }: EndpointPatch,
    { versions, mayMoveSecrets = false, act }: UpdateBounds = {},
  ): Promise<Endpoint> {
    const { signingKeys, verificationPolicy, waitingDeliveries, clock, emit } = this.parts;
    if (patch.events) await requireKnownFilters(this.parts, patch.events);
    if (patch.signing && patch.signing !== 'hmac') await signingKeys.ensure(accountId);
    const mayNeedProof = patch.url !== undefined || method !== undefined;
    const demand = mayNeedProof ? await verificationPolicy.demandOf(accountId, method) : NO_DEMAND;
    let before: Endpoint | undefined;
    const applyTo = (endpoint: Endpoint) => {
      before = endpoint;
      const now = clock();
      const changed = applyPatch(requireVersion(endpoint, versions), patch, mayMoveSecrets, now);
      return withVerification(endpoint, changed, demand, now);
    };
    const after = mayNeedProof
      ? await this.#changeAndVerify(accountId, ref, applyTo, act)
      : await this.#change(accountId, ref, applyTo, act);
    if (before && !hasSameLimits(before, after)) await waitingDeliveries.applyLimits(before, after);
    emit({ name: 'endpoint.updated', accountId, endpointId: after.id });
    return after;
  }

  /**
   * Give it a new secret. The former secrets sign as well until the returned time. Repeating a rotation gives
   * the secret that it made.
   *
   * @param rotation tells the rotation from any other.
   * @throws AppError `not_found`, `invalid_request` for a secret that signs already, `conflict` when too many
   *   do.
   */
  async rotateSecret(
    accountId: AccountId,
    ref: EndpointRef,
    { secret = newSecret(), overlapMs }: SecretRotation,
    rotation: string,
    act?: Act,
  ): Promise<Rotated> {
    const { verificationPolicy, clock, emit } = this.parts;
    const demand = await verificationPolicy.demandOf(accountId, undefined);
    const rotate = (endpoint: Endpoint) => {
      const now = clock();
      const changed = rotateSecret(endpoint, { secret, overlapMs, rotation }, now);
      return withVerification(endpoint, changed, demand, now);
    };
    const rotated = await this.#changeAndVerify(accountId, ref, rotate, act);
    emit({ name: 'endpoint.updated', accountId, endpointId: rotated.id });
    const made = rotated.secrets.find((each) => each.rotation === rotation) ?? newestSecret(rotated);
    return { secret: made.secret, previousExpiresAt: made.createdAt + overlapMs };
  }

  /** Its pending and new deliveries are held until it is enabled. @throws AppError `not_found`. */
  async disable(accountId: AccountId, ref: EndpointRef, act?: Act): Promise<Endpoint> {
    const { endpointStore, operationalEvents, clock } = this.parts;
    const id = await endpointStore.idOf(accountId, ref);
    if (id === undefined) throw endpointNotFound();
    const { endpoint, hasChanged } = await disable(this.parts, accountId, id, 'client', () => true, act);
    const disabled = mustExist(endpoint);
    if (hasChanged) operationalEvents.raise(accountId, [webhookDisabledEvent(disabled, 'client', clock())]);
    return disabled;
  }

  /**
   * End what is held for it now, as cancelled: workers do it in pieces, also if this process ends. What is on its way, or waits
   * for its next attempt, is not held.
   *
   * @returns how many were held.
   * @throws AppError `not_found`.
   */
  async discardHeld(accountId: AccountId, ref: EndpointRef, act?: Act): Promise<number> {
    const { heldDeliveries, clock, emit } = this.parts;
    const { id: endpointId } = await this.read(accountId, ref);
    const address = { accountId, endpointId };
    const held = await heldDeliveries.count(endpointId);
    // Ask first: the wake-up comes even if this process ends right after the change.
    await heldDeliveries.askForWakeUp(address, clock() + CHANGE_MS);
    const heldDiscard = { at: clock(), isDone: false };
    await this.#change(accountId, endpointId, (endpoint) => ({ ...endpoint, heldDiscard }), act);
    await heldDeliveries.askForWakeUp(address, clock());
    emit({ name: 'endpoint.updated', ...address });
    return held;
  }

  /**
   * Its held deliveries are sent at once, whatever the breaker's state was.
   *
   * @throws AppError `not_found`, `conflict` for a listener that is not connected.
   */
  async enable(accountId: AccountId, ref: EndpointRef, act?: Act): Promise<Endpoint> {
    const { admissionStore, verificationStore, heldDeliveries, clock, emit } = this.parts;
    const endpoint = await this.read(accountId, ref);
    const { id: endpointId, listener } = endpoint;
    if (listener && listener.stream === undefined) throw nobodyListens();
    const address = { accountId, endpointId };
    // Ask first: the wake-up comes even if this process ends right after the change.
    await heldDeliveries.askForWakeUp(address, clock() + CHANGE_MS);
    // None was made while it was disabled.
    if (lacksProof(endpoint)) await verificationStore.ask(address, clock() + CHANGE_MS);
    const enabled = await this.#change(accountId, endpointId, (each) => asEnabled(each, clock()), act);
    if (lacksProof(enabled)) await verificationStore.ask(address, clock());
    await admissionStore.closeBreaker(endpointId);
    await heldDeliveries.askForWakeUp(address, clock());
    emit({ name: 'endpoint.enabled', ...address });
    return enabled;
  }

  /**
   * Try once more to verify it, now. Of all endpoints at one host only a few an hour, and fewer of one account: otherwise this
   * would be a way to send requests to somebody who never asked for any.
   *
   * @throws AppError `not_found`, `conflict` when there is nothing to verify or it is disabled, `rate_limited`.
   */
  async verify(accountId: AccountId, ref: EndpointRef, act?: Act): Promise<Endpoint> {
    const { verificationStore, clock, emit } = this.parts;
    const endpoint = await this.read(accountId, ref);
    // Requests that are refused anyway must not count.
    withAnotherTry(endpoint, clock());
    const address = { accountId, endpointId: endpoint.id };
    await this.#takeFromHost(endpoint);
    // Ask first: the try comes even if this process ends right after the change.
    await verificationStore.ask(address, clock() + CHANGE_MS);
    const tryAgain = (current: Endpoint) => withAnotherTry(mustExist(current), clock());
    const asked = await this.parts.endpointStore.update(accountId, endpoint.id, tryAgain, act);
    await verificationStore.ask(address, clock());
    emit({ name: 'endpoint.updated', ...address });
    return mustExist(asked);
  }

  async #takeFromHost({ accountId, url }: Endpoint): Promise<void> {
    const retryAfterMs = await this.parts.verificationStore.takeFromHost(accountId, hostOf(new URL(url)));
    if (retryAfterMs === 0) return;
    throw new AppError(
      'rate_limited',
      `Webhooks at one host are verified at most ${ASKED_AN_HOUR.ofAccount} times an hour on request for one account, and ${ASKED_AN_HOUR.ofAll} times for all together. Try again later.`,
      { retryAfterMs },
    );
  }

  /** Nothing that is published afterwards is sent to it, and pending deliveries are cancelled soon. @throws AppError `not_found`. */
  async remove(accountId: AccountId, ref: EndpointRef, act?: Act): Promise<void> {
    const { endpointStore, heldDeliveries, waitingDeliveries, deliveryStore, clock, emit } = this.parts;
    const id = await endpointStore.idOf(accountId, ref);
    if (id === undefined || !(await endpointStore.remove(accountId, id, act))) throw endpointNotFound();
    await Promise.all([
      this.parts.admissionStore.remove(id),
      this.parts.besideLanes.clear(id),
      this.parts.healthStore.remove(id),
      this.parts.transformationStore.remove(accountId, id),
      this.parts.verificationStore.forget({ accountId, endpointId: id }),
    ]);
    // Held deliveries are released, and end as cancelled. So does what waits for another attempt.
    await heldDeliveries.askForWakeUp({ accountId, endpointId: id }, clock());
    await waitingDeliveries.promoteDelayed(id);
    await deliveryStore.removeAll(id);
    emit({ name: 'endpoint.deleted', accountId, endpointId: id });
  }

  async #change(
    accountId: AccountId,
    ref: EndpointRef,
    how: (endpoint: Endpoint) => Endpoint,
    act: Act | undefined,
  ): Promise<Endpoint> {
    const { endpointStore } = this.parts;
    const id = await endpointStore.idOf(accountId, ref);
    return mustExist(
      id && (await endpointStore.update(accountId, id, (endpoint) => how(mustExist(endpoint)), act)),
    );
  }

  /**
   * Make a change after which it may have to be verified, and ask for the first try. Asked for before as well: it comes even
   * if this process ends right after the change.
   */
  async #changeAndVerify(
    accountId: AccountId,
    ref: EndpointRef,
    how: (endpoint: Endpoint) => Endpoint,
    act: Act | undefined,
  ): Promise<Endpoint> {
    const { endpointStore, verificationStore, clock } = this.parts;
    const endpointId = await endpointStore.idOf(accountId, ref);
    if (endpointId === undefined) throw endpointNotFound();
    const address = { accountId, endpointId };
    await verificationStore.ask(address, clock() + CHANGE_MS);
    const changed = await this.#change(accountId, endpointId, how, act);
    if (lacksProof(changed)) await verificationStore.ask(address, clock());
    return changed;
  }
}

function nobodyListens(): AppError {
  return new AppError(
    'conflict',
    'No client is connected to this listener. It is enabled as soon as one connects.',
  );
}
