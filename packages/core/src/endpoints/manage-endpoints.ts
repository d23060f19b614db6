import { isDeepStrictEqual } from 'node:util';
import type { AccountStore } from '../accounts/redis-account-store';
import { type AccountId, accountNotFound, isThere } from '../domain/account';
import type { Act } from '../domain/audit';
import {
  batchLimitsOf,
  ENDPOINT_ID_PREFIX,
  type Endpoint,
  type EndpointId,
  type EndpointRef,
  endpointNotFound,
  isAsleep,
  lineOf,
  newestSecret,
} from '../domain/endpoint';
import type { EventId } from '../domain/event';
import type { Emit } from '../domain/signal';
import { lacksProof } from '../domain/verification';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import { AppError, invalidRequest } from '../platform/app-error';
import { chunksOf } from '../platform/batches';
import type { Clock } from '../platform/clock';
import type { NewId } from '../platform/ids';
import type { Atomic } from '../platform/redis-atomic';
import { timelinePages } from '../platform/redis-timeline';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import type { AdmissionStore } from './admission/redis-admission-store';
import { asEnabled, type DisableContext, disable, updateTime } from './disable';
import {
  type EndpointPatch,
  mergeEndpoint,
  movedSecrets,
  type NewEndpoint,
  requireVersion,
} from './endpoint-input';
import { type KnownFiltersContext, matchesType, requireKnownFilters } from './filters/event-filters';
import type { HealthStore } from './health/redis-health-store';
import { type OperationalEvents, webhookDisabledEvent } from './operational-events';
import type { EndpointPage, EndpointStore } from './redis-endpoint-store';
import type { Subscriber } from './redis-subscriptions';
import type { TransformationStore } from './redis-transformation-store';
import { newSecret, ROTATION_ID_PREFIX, rotateSecret, type SecretRotation } from './rotate-secret';
import { type EnsureKeyContext, ensureSigningKeys } from './signing-keys/manage-signing-keys';
import type { VerificationStore } from './verification/redis-verification-store';
import { CHANGE_MS } from './verification/request-verification';
import { type VerificationDemand, type VerificationPolicy, withVerification } from './verification/verify';

interface EndpointRecords {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf' | 'update'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What a change needs after which the endpoint may have to be verified again. */
interface DemandContext {
  readonly verificationPolicy: Pick<VerificationPolicy, 'demandOf'>;
  readonly verificationStore: Pick<VerificationStore, 'ask'>;
}

export interface CreateEndpointContext extends KnownFiltersContext, EnsureKeyContext, DemandContext {
  readonly endpointStore: Pick<EndpointStore, 'create' | 'find' | 'takeBack'>;
  readonly accountStore: Pick<AccountStore, 'find'>;
  readonly newId: NewId;
  /** The most endpoints of an account. */
  readonly maxEndpoints: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * Create an endpoint. Creating one under the same id again gives the existing one. Like each change, it is in
 * force once the promise has resolved.
 *
 * @throws AppError `conflict` when its uid is taken, `limit_reached`, `invalid_request`, also for unknown
 *   event types, and for TLS material that doesn't go together; `not_found` when the account is gone, or
 *   being erased.
 */
export async function createEndpoint(
  context: CreateEndpointContext,
  accountId: AccountId,
  input: NewEndpoint & Pick<Endpoint, 'listener'>,
  id = context.newId(ENDPOINT_ID_PREFIX) as EndpointId,
  act?: Act,
): Promise<Endpoint> {
  const { endpointStore, signingKeyStore, verificationStore, accountStore, maxEndpoints, clock, emit } =
    context;
  await requireKnownFilters(context, input.events);
  const now = clock();
  const { secret = newSecret(), status, verification: method, ...rest } = input;
  const signing = input.signing ?? (await defaultSigningOf(context, accountId, input));
  if (signing !== 'hmac') await ensureSigningKeys(context, accountId);
  const disabledReason = input.listener ? 'disconnected' : 'client';
  const merged = mergeEndpoint(
    {
      id,
      accountId,
      enabledAt: now,
      ...(status === 'disabled' ? { status, disabledReason } : {}),
      signing,
      secrets: [{ secret, createdAt: now }],
      createdAt: now,
      updatedAt: now,
    },
    rest,
    now,
  );
  const demand = await context.verificationPolicy.demandOf(accountId, method);
  const endpoint = withVerification(undefined, merged, demand, now);
  const isToVerify = lacksProof(endpoint);
  // Ask first: the try comes even if this process ends right after the endpoint is there.
  if (isToVerify) await verificationStore.ask({ accountId, endpointId: id }, now + CHANGE_MS);
  const isNew = await endpointStore.create(endpoint, maxEndpoints, act);
  // Check only now: an erasure first marks the account and then removes its endpoints, so one of the two sees
  // this endpoint. During a slow request the account may be long gone.
  if (!isThere(await accountStore.find(accountId))) {
    await endpointStore.takeBack(accountId, id);
    await signingKeyStore.remove(accountId);
    throw accountNotFound();
  }
  if (!isNew) return mustExist(await endpointStore.find(accountId, id));
  if (isToVerify) await verificationStore.ask({ accountId, endpointId: id }, now);
  emit({ name: 'endpoint.created', accountId, endpointId: id });
  return endpoint;
}

/** A listener has no choice: `hookferry listen` verifies by the secret. */
async function defaultSigningOf(
  { accountStore }: Pick<CreateEndpointContext, 'accountStore'>,
  accountId: AccountId,
  { listener }: Pick<Endpoint, 'listener'>,
): Promise<Endpoint['signing']> {
  const account = listener ? undefined : await accountStore.find(accountId);
  return account?.defaultSigning ?? 'hmac';
}

export interface ReadEndpointContext {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf'>;
}

/** @throws AppError `not_found`, also for another account's endpoint. */
export async function readEndpoint(
  { endpointStore }: ReadEndpointContext,
  accountId: AccountId,
  ref: EndpointRef,
): Promise<Endpoint> {
  const id = await endpointStore.idOf(accountId, ref);
  return mustExist(id && (await endpointStore.find(accountId, id)));
}

export interface UpdateEndpointContext
  extends EndpointRecords,
    KnownFiltersContext,
    LimitsContext,
    EnsureKeyContext,
    DemandContext {}

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

/**
 * @throws AppError `not_found`, `precondition_failed`, `conflict` when its new uid is taken,
 *   `invalid_request` as above, and for secrets that it may not move.
 */
export async function updateEndpoint(
  context: UpdateEndpointContext,
  accountId: AccountId,
  ref: EndpointRef,
  patch: EndpointPatch,
  bounds: UpdateBounds = {},
): Promise<Endpoint> {
  if (patch.events) await requireKnownFilters(context, patch.events);
  if (patch.signing && patch.signing !== 'hmac') await ensureSigningKeys(context, accountId);
  const { verification: method, ...rest } = patch;
  const mayNeedProof = patch.url !== undefined || method !== undefined;
  const demand = mayNeedProof ? await context.verificationPolicy.demandOf(accountId, method) : NO_DEMAND;
  let before: Endpoint | undefined;
  const applyTo = (endpoint: Endpoint) => {
    before = endpoint;
    const now = context.clock();
    const changed = applyPatch(requireVersion(endpoint, bounds.versions), rest, bounds, now);
    return withVerification(endpoint, changed, demand, now);
  };
  const change = () => changeEndpoint(context, accountId, ref, applyTo, bounds.act);
  const after = await (mayNeedProof ? askingForTry(context, accountId, ref, change) : change());
  if (before && !hasSameLimits(before, after)) await applyLimits(context, before, after);
  context.emit({ name: 'endpoint.updated', accountId, endpointId: after.id });
  return after;
}

const NO_DEMAND: VerificationDemand = { method: undefined, isRequired: false };

/**
 * Make a change after which an endpoint may have to be verified, and ask for the first try. Asked for before as well: it comes even if this process ends right after the
 * change.
 */
async function askingForTry(
  {
    endpointStore,
    verificationStore,
    clock,
  }: Pick<EndpointRecords, 'endpointStore' | 'clock'> & DemandContext,
  accountId: AccountId,
  ref: EndpointRef,
  change: () => Promise<Endpoint>,
): Promise<Endpoint> {
  const endpointId = await endpointStore.idOf(accountId, ref);
  if (endpointId === undefined) throw endpointNotFound();
  const address = { accountId, endpointId };
  await verificationStore.ask(address, clock() + CHANGE_MS);
  const changed = await change();
  if (lacksProof(changed)) await verificationStore.ask(address, clock());
  return changed;
}

export interface Rotated {
  readonly secret: string;
  readonly previousExpiresAt: number;
}

export interface RotateEndpointSecretContext extends EndpointRecords, DemandContext {
  readonly newId: NewId;
}

/**
 * Give it a new secret. The former secrets sign as well until the returned time. Repeating a rotation gives
 * the secret that it made.
 *
 * @throws AppError `not_found`, `invalid_request` for a secret that signs already, `conflict` when too many
 *   do.
 */
export async function rotateEndpointSecret(
  context: RotateEndpointSecretContext,
  accountId: AccountId,
  ref: EndpointRef,
  { secret = newSecret(), overlapMs }: SecretRotation,
  rotation = context.newId(ROTATION_ID_PREFIX),
  act?: Act,
): Promise<Rotated> {
  const demand = await context.verificationPolicy.demandOf(accountId, undefined);
  const rotate = (endpoint: Endpoint) => {
    const now = context.clock();
    const changed = rotateSecret(endpoint, { secret, overlapMs, rotation }, now);
    return withVerification(endpoint, changed, demand, now);
  };
  const rotated = await askingForTry(context, accountId, ref, () =>
    changeEndpoint(context, accountId, ref, rotate, act),
  );
  context.emit({ name: 'endpoint.updated', accountId, endpointId: rotated.id });
  const made = rotated.secrets.find((each) => each.rotation === rotation) ?? newestSecret(rotated);
  return { secret: made.secret, previousExpiresAt: made.createdAt + overlapMs };
}

export interface DisableEndpointContext extends DisableContext {
  readonly endpointStore: Pick<EndpointStore, 'idOf' | 'update'>;
  readonly operationalEvents: Pick<OperationalEvents, 'raise'>;
}

/** Its pending and new deliveries are held until it is enabled. @throws AppError `not_found`. */
export async function disableEndpoint(
  context: DisableEndpointContext,
  accountId: AccountId,
  ref: EndpointRef,
  act?: Act,
): Promise<Endpoint> {
  const { endpointStore, operationalEvents, clock } = context;
  const id = await endpointStore.idOf(accountId, ref);
  if (id === undefined) throw endpointNotFound();
  const { endpoint, hasChanged } = await disable(context, accountId, id, 'client', () => true, act);
  const disabled = mustExist(endpoint);
  if (hasChanged) operationalEvents.raise(accountId, [webhookDisabledEvent(disabled, 'client', clock())]);
  return disabled;
}

export interface EnableEndpointContext extends EndpointRecords {
  readonly verificationStore: Pick<VerificationStore, 'ask'>;
  readonly admissionStore: Pick<AdmissionStore, 'closeBreaker'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'askForWakeUp'>;
}

/**
 * Held deliveries flow at once, whatever the breaker's state was.
 *
 * @throws AppError `not_found`, `conflict` for a listener that is not connected.
 */
export async function enableEndpoint(
  context: EnableEndpointContext,
  accountId: AccountId,
  ref: EndpointRef,
  act?: Act,
): Promise<Endpoint> {
  const { admissionStore, verificationStore, heldDeliveries, clock, emit } = context;
  const endpoint = await readEndpoint(context, accountId, ref);
  const { id: endpointId, listener } = endpoint;
  if (listener && listener.stream === undefined) throw nobodyListens();
  const address = { accountId, endpointId };
  // Ask first: the wake-up comes even if this process ends right after the change.
  await heldDeliveries.askForWakeUp(address, clock() + CHANGE_MS);
  // None was made while it was disabled.
  if (lacksProof(endpoint)) await verificationStore.ask(address, clock() + CHANGE_MS);
  const enable = (each: Endpoint) => asEnabled(each, clock());
  const enabled = await changeEndpoint(context, accountId, endpointId, enable, act);
  if (lacksProof(enabled)) await verificationStore.ask(address, clock());
  await admissionStore.closeBreaker(endpointId);
  await heldDeliveries.askForWakeUp(address, clock());
  emit({ name: 'endpoint.enabled', ...address });
  return enabled;
}

export interface RemoveEndpointContext extends PromoteContext {
  readonly endpointStore: Pick<EndpointStore, 'idOf' | 'remove'>;
  readonly deliveryStore: Pick<DeliveryStore, 'listFrom' | 'removeAll'>;
  readonly healthStore: Pick<HealthStore, 'remove'>;
  readonly transformationStore: Pick<TransformationStore, 'remove'>;
  readonly admissionStore: Pick<AdmissionStore, 'remove'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'askForWakeUp' | 'findHeld'>;
  readonly verificationStore: Pick<VerificationStore, 'forget'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Nothing that is published afterwards is sent to it, and pending deliveries are cancelled soon. */
export async function removeEndpoint(
  context: RemoveEndpointContext,
  accountId: AccountId,
  ref: EndpointRef,
  act?: Act,
): Promise<void> {
  const { endpointStore, heldDeliveries, clock, emit } = context;
  const id = await endpointStore.idOf(accountId, ref);
  if (id === undefined || !(await endpointStore.remove(accountId, id, act))) throw endpointNotFound();
  await Promise.all([
    context.admissionStore.remove(id),
    context.healthStore.remove(id),
    context.transformationStore.remove(id),
    context.verificationStore.forget({ accountId, endpointId: id }),
  ]);
  // Held deliveries are released, and end as cancelled. So does what waits for another attempt.
  await heldDeliveries.askForWakeUp({ accountId, endpointId: id }, clock());
  await promoteDelayed(context, id);
  await context.deliveryStore.removeAll(id);
  emit({ name: 'endpoint.deleted', accountId, endpointId: id });
}

interface PromoteContext {
  readonly deliveryStore: Pick<DeliveryStore, 'listFrom'>;
  readonly deliveryQueue: Pick<DeliveryQueue, 'findDelayed' | 'promote'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'findHeld'>;
  readonly emit: Emit;
}

const LISTED_AT_ONCE = 250;
const PROMOTED_AT_ONCE = 25;
// The others go when their time comes.
const MOST_PROMOTED = 1_000;

/**
 * Let the workers look again at what waits for a time that may not be right any more and is not held, the oldest first. If
 * that fails, it goes when its time comes.
 */
async function promoteDelayed(context: PromoteContext, endpointId: EndpointId): Promise<void> {
  let left = MOST_PROMOTED;
  try {
    for await (const delayed of delayedDeliveries(context, endpointId)) {
      for (const some of chunksOf(delayed.slice(0, left), PROMOTED_AT_ONCE)) {
        await Promise.all(some.map((eventId) => context.deliveryQueue.promote({ endpointId, eventId })));
      }
      left -= delayed.length;
      if (left <= 0) return;
    }
  } catch (error) {
    context.emit({ name: 'task.failed', task: 'send waiting deliveries sooner', error });
  }
}

async function* delayedDeliveries(
  { deliveryStore, deliveryQueue, heldDeliveries }: PromoteContext,
  endpointId: EndpointId,
): AsyncGenerator<readonly EventId[], void> {
  const pages = timelinePages(LISTED_AT_ONCE, (limit, after) =>
    deliveryStore.listFrom(endpointId, {}, limit, after),
  );
  for await (const page of pages) {
    const eventIds = page.map(({ id }) => id as EventId);
    const delayed = await deliveryQueue.findDelayed(endpointId, eventIds);
    const held = await heldDeliveries.findHeld(endpointId, delayed);
    yield delayed.filter((eventId) => !held.has(eventId));
  }
}

interface LimitsContext extends PromoteContext {
  readonly admissionStore: Pick<AdmissionStore, 'clearOrder' | 'clearCoalescing' | 'joinOrder' | 'markReady'>;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly eventStore: Pick<EventStore, 'findHead'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'askForWakeUp' | 'findHeld' | 'pagesOf'>;
  readonly clock: Clock;
}

// The former order has no meaning any more, and other rules may apply to held deliveries now.
async function applyLimits(context: LimitsContext, before: Endpoint, endpoint: Endpoint): Promise<void> {
  const { accountId, id, ordering } = endpoint;
  const hasSameWindow = windowOf(before) === windowOf(endpoint);
  if (before.ordering !== ordering) await changeOrder(context, { accountId, id, ordering });
  else if (!hasSameWindow) await context.admissionStore.clearCoalescing(id);
  await context.heldDeliveries.askForWakeUp({ accountId, endpointId: id }, context.clock());
  if (!hasSameWindow) await promoteDelayed(context, id);
}

// Held deliveries get their position. Running and delayed ones get theirs when they are admitted next.
async function changeOrder(
  { admissionStore, atomic, eventStore, heldDeliveries }: LimitsContext,
  { accountId, id, ordering }: Pick<Endpoint, 'accountId' | 'id' | 'ordering'>,
): Promise<void> {
  await admissionStore.clearOrder(id);
  if (ordering === 'none') return;
  for await (const held of heldDeliveries.pagesOf(id)) {
    const heads =
      ordering === 'strict'
        ? []
        : await Promise.all(held.map(({ eventId }) => eventStore.findHead(accountId, eventId)));
    const places = held.flatMap((each, i) => {
      const line = lineOf({ ordering }, { id: each.eventId, group: heads[i]?.group });
      return line === undefined ? [] : [{ ...each, line }];
    });
    await atomic([admissionStore.joinOrder(id, places)]);
    if (ordering === 'group') await Promise.all(held.map((each) => admissionStore.markReady(id, each)));
  }
}

async function changeEndpoint(
  { endpointStore }: { readonly endpointStore: Pick<EndpointStore, 'idOf' | 'update'> },
  accountId: AccountId,
  ref: EndpointRef,
  how: (endpoint: Endpoint) => Endpoint,
  act: Act | undefined,
): Promise<Endpoint> {
  const id = await endpointStore.idOf(accountId, ref);
  return mustExist(
    id && (await endpointStore.update(accountId, id, (endpoint) => how(mustExist(endpoint)), act)),
  );
}

function nobodyListens(): AppError {
  return new AppError(
    'conflict',
    'No client is connected to this listener. It is enabled as soon as one connects.',
  );
}

// A listener that is asleep has to be created again.
function mustExist(endpoint: Endpoint | undefined): Endpoint {
  if (!endpoint || isAsleep(endpoint)) throw endpointNotFound();
  return endpoint;
}

function applyPatch(
  endpoint: Endpoint,
  patch: Omit<EndpointPatch, 'verification'>,
  { mayMoveSecrets = false }: UpdateBounds,
  now: number,
): Endpoint {
  const changed = mergeEndpoint({ ...endpoint, updatedAt: updateTime(endpoint, now) }, patch, now);
  const moved = mayMoveSecrets ? [] : movedSecrets(endpoint, changed, patch);
  if (moved.length > 0) throw invalidRequest(moved);
  return changed;
}

function hasSameLimits(one: Endpoint, other: Endpoint): boolean {
  // Those that are held because of a token URL can go by what replaces it.
  const isSameAuth = one.auth?.changedAt === other.auth?.changedAt;
  const isSameOrder = one.ordering === other.ordering && windowOf(one) === windowOf(other);
  const isSameBatch = isDeepStrictEqual(batchLimitsOf(one), batchLimitsOf(other));
  return isSameOrder && one.rateLimit === other.rateLimit && isSameAuth && isSameBatch;
}

function windowOf({ coalesce }: Endpoint): number | undefined {
  return coalesce?.window_ms;
}

/** The filter of a list of endpoints. */
export interface EndpointFilter {
  readonly status?: Endpoint['status'] | undefined;
  /** It subscribes to this type. */
  readonly eventType?: string | undefined;
}

const READ_AT_ONCE = 250;

export interface ListEndpointsContext {
  readonly endpointStore: Pick<EndpointStore, 'list' | 'findAll' | 'listSubscribersByPage'>;
}

/** A page of an account's endpoints, newest first. */
export async function listEndpoints(
  { endpointStore }: ListEndpointsContext,
  accountId: AccountId,
  filter: EndpointFilter,
  limit: number,
  before?: EndpointId,
): Promise<EndpointPage> {
  const page = await listMatching(endpointStore, accountId, filter, limit, before);
  return { ...page, endpoints: page.endpoints.filter((endpoint) => !isAsleep(endpoint)) };
}

/** Records that do not match are not read. */
async function listMatching(
  endpointStore: ListEndpointsContext['endpointStore'],
  accountId: AccountId,
  filter: EndpointFilter,
  limit: number,
  before: EndpointId | undefined,
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
