import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import type { AccountStore } from '../accounts/redis-account-store';
import type { AccountId } from '../domain/account';
import type { DeliveryParts, DeliveryRun, LaneRun } from '../domain/delivery';
import type { QueueShards } from '../domain/queues';
import type { RetrySchedule } from '../domain/retry-schedule';
import type { Emit } from '../domain/signal';
import type { BeginSpan } from '../domain/trace';
import type { Transport } from '../domain/transport';
import type { NoteUsage } from '../domain/usage';
import type { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import type { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import type { DisablePolicy } from '../endpoints/disable';
import type { FormerOrder } from '../endpoints/former-order/redis-former-order';
import { HealthRecorder } from '../endpoints/health/health-recorder';
import type { HealthStore } from '../endpoints/health/redis-health-store';
import type { OperationalEvents } from '../endpoints/operational-events';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { OpenBreakers } from '../endpoints/redis-stopped-endpoints';
import type { TransformationStore } from '../endpoints/redis-transformation-store';
import type { Sealer } from '../endpoints/seal';
import type { SigningKeyStore } from '../endpoints/signing-keys/redis-signing-key-store';
import { ReceiverCertificates } from '../endpoints/tls/redis-receiver-certificates';
import { UnprovenRequests } from '../endpoints/verification/redis-unproven-requests';
import type { VerificationStore } from '../endpoints/verification/redis-verification-store';
import type { VerificationPolicy } from '../endpoints/verification/verify';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EndedList } from '../events/redis-ended-list';
import type { Retention } from '../events/redis-event-index';
import type { EventStore } from '../events/redis-event-store';
import type { Clock } from '../platform/clock';
import { steadyClock } from '../platform/clock';
import type { NewId } from '../platform/ids';
import type { Atomic } from '../platform/redis-atomic';
import type { RedisClock } from '../platform/redis-clock';
import type { RedisClient } from '../platform/redis-connect';
import type { Stoppable } from '../platform/timers';
import { PROJECT_URL, VERSION } from '../platform/version';
import type { DeliveryHolds } from '../queue/bullmq-delivery-holds';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { OldestEvents } from '../queue/bullmq-oldest-events';
import { TransformPool } from '../transform/transform-pool';
import { type TransformConfig, transformLimitsOf } from '../transform/transform-settings';
import { AccessTokens } from './access-tokens';
import type { cloudEventsSettings } from './cloudevents';
import { Ed25519Signatures } from './ed25519-signatures';
import { AddressPolicy } from './egress/address-policy';
import type { EgressProxy, egressSettings } from './egress/egress-settings';
import { lookUpName, NameCache } from './egress/resolve-name';
import { DirectRoute, ProxyRoute } from './egress/routes';
import { BatchSizes } from './flow/batch-sizes';
import { Concurrency } from './flow/concurrency';
import { Releaser } from './flow/releaser';
import { measureTurn, Slots } from './flow/slots';
import { GotTransport } from './got-transport';
import type { RequestStyle } from './prepare-request';
import { AccessTokenStore } from './redis-access-token-store';
import { AttemptStore } from './redis-attempt-store';
import { Verifier } from './verify-endpoint';

/** All that attempts work with. A worker opens it once, and each step of each attempt gets this one object. */
export interface AttemptParts extends SharedParts {
  readonly transport: Transport;
  readonly accessTokens: AccessTokens;
  readonly ed25519Signatures: Ed25519Signatures;
  readonly attemptStore: AttemptStore;
  readonly healthRecorder: HealthRecorder;
  readonly concurrency: Concurrency;
  readonly releaser: Releaser;
  readonly batchSizes: BatchSizes;
  readonly oldestEvents: OldestEvents;
  readonly transformPool: TransformPool;
  readonly requestStyle: RequestStyle;
  /** For endpoints without a schedule of their own. */
  readonly retrySchedule: RetrySchedule;
  /** The longest time of an attempt at an endpoint without a setting of its own. Milliseconds. */
  readonly attemptTimeoutMs: number;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  /** Attempts a delivery unless a worker has it in another shard. Absent: there it can't be. */
  readonly claim?: <Result>(
    run: DeliveryRun,
    attempt: () => Promise<Result>,
  ) => Promise<Result | 'elsewhere'>;
  /** Whether a delivery that goes as the newest of its lane waits, since another shard has that lane too. Absent: none has. */
  readonly joinElsewhere?: (run: DeliveryRun, lane: LaneRun) => Promise<boolean>;
  /** Whether the turn of another delivery of the lane has begun in another shard. Absent: none has that lane. */
  readonly hasTurnElsewhere?: (run: DeliveryRun, lane: LaneRun) => Promise<boolean>;
}

/** The part of it that every process opens. */
export interface SharedParts {
  readonly accountStore: AccountStore;
  readonly endpointStore: EndpointStore;
  readonly signingKeyStore: SigningKeyStore;
  readonly transformationStore: TransformationStore;
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  readonly retention: Retention;
  /** Absent: there is no history. */
  readonly endedList?: EndedList | undefined;
  /** What has ended and moved. Only with a history. */
  readonly pgHistory?:
    | { findDelivery(accountId: AccountId, delivery: DeliveryParts): Promise<unknown> }
    | undefined;
  /** Absent, as the next one: what Redis does not have is gone. Only with a history. */
  readonly pgIntake?:
    | { has(event: Pick<DeliveryRun, 'accountId' | 'eventId'>): Promise<boolean> }
    | undefined;
  /** Only with INTAKE=durable. */
  readonly configurationCopy?: { has(record: { key: string; field: string }): Promise<boolean> } | undefined;
  readonly admissionStore: AdmissionStore;
  readonly besideLanes: BesideLanes;
  /** Only with `RECORD_FORM=former`. */
  readonly formerOrder?: FormerOrder | undefined;
  readonly openBreakers: OpenBreakers;
  readonly healthStore: HealthStore;
  /** `never`: failing endpoints are tried for ever. */
  readonly disablePolicy: DisablePolicy | 'never';
  readonly verificationPolicy: VerificationPolicy;
  readonly deliveryQueue: DeliveryQueue;
  readonly heldDeliveries: HeldDeliveries;
  readonly operationalEvents: OperationalEvents;
  /** Absent: usage is not counted. */
  readonly noteUsage?: NoteUsage | undefined;
  /** Names this process in records. */
  readonly workerId: string;
  /** Undefined where traces are not wanted. Nobody may forget to say so. */
  readonly beginSpan: BeginSpan | undefined;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What the settings of a worker say of attempts. */
export type DeliverySettings = TransformConfig &
  z.infer<z.ZodObject<typeof egressSettings>> &
  z.infer<z.ZodObject<typeof cloudEventsSettings>> & {
    readonly DELIVERY_TIMEOUT: number;
    readonly DELIVERY_CONNECT_TIMEOUT: number;
    readonly DELIVERY_PROXY_URL?: EgressProxy | undefined;
    readonly RESPONSE_BYTES_READ: number;
    readonly RESPONSE_BYTES_KEPT: number;
    readonly RETRY_SCHEDULE: RetrySchedule;
    readonly WORKER_CONCURRENCY: number;
    readonly WORKER_SLOW_CONCURRENCY?: number | undefined;
    readonly SIGNATURE_HEADER: string;
    readonly SIGNATURE_PREFIX: string;
    readonly TRACEPARENT_TO_RECEIVERS: boolean;
    readonly PUBLIC_URL?: string | undefined;
  };

export interface OpenDeliveryParts extends SharedParts {
  readonly redis: RedisClient;
  readonly shards: QueueShards;
  readonly deliveryHolds: DeliveryHolds;
  readonly redisClock: RedisClock;
  readonly sealer: Sealer;
  readonly verificationStore: VerificationStore;
  readonly newId: NewId;
  /** For endpoints whose deliveries a connected client takes. */
  readonly toListeners: Transport;
  /** Called whenever the total number of allowed attempts changes. */
  readonly onCapacity: (attempts: number) => void;
}

// One endpoint may use a quarter of the slots, and all of them while no other endpoint needs any.
const ENDPOINT_SHARE = 4;
// Several times the response time of a healthy receiver.
const PERMIT_PATIENCE_MS = 100;
// Unknown endpoints together may use half of the slots.
const UNKNOWN_SHARE = 2;
// This many slow slots for each quick one: sixteen busy endpoints may begin to hang at once before others
// notice.
const SLOW_FACTOR = 4;
// The slots bound how many runs wait.
const BOUND_BY_SLOTS = {
  maxWaitingOfAccount: Number.POSITIVE_INFINITY,
  maxWaiting: Number.POSITIVE_INFINITY,
};
const USER_AGENT = `Hookferry/${VERSION} (+${PROJECT_URL})`;

/**
 * Open all that makes attempts, as only workers do, over the stores that all processes have. Nothing is started.
 *
 * @returns the `parts` of attempts, and what else works with the same; `recorders`, which still write when a process stops, and need
 *   `connections` until then. Both are in the order in which they must stop.
 */
export function openDelivery(settings: DeliverySettings, given: OpenDeliveryParts) {
  const { redis, clock, emit } = given;
  const random = Math.random;
  const attemptTimeoutMs = settings.DELIVERY_TIMEOUT;
  const receiverCertificates = new ReceiverCertificates({ redis, clock, emit });
  const gotTransport = openGotTransport(settings, given, receiverCertificates);
  const transport: Transport = (request, abortSignal) =>
    request.listener === undefined
      ? gotTransport.send(request, abortSignal)
      : given.toListeners(request, abortSignal);
  const accessTokenStore = new AccessTokenStore(redis, given.sealer);
  const unprovenRequests = new UnprovenRequests(redis);
  const accessTokens = new AccessTokens({
    ...given,
    accessTokenStore,
    unprovenRequests,
    transport,
    userAgent: USER_AGENT,
    attemptTimeoutMs,
    newTokenId: randomUUID,
    random,
  });
  const flow = openFlow(settings, given);
  const healthRecorder = new HealthRecorder({
    ...given,
    limitOf: (endpointId) => flow.concurrency.limitOf(endpointId),
  });
  const transformPool = new TransformPool({ limits: transformLimitsOf(settings, BOUND_BY_SLOTS), emit });
  const parts: AttemptParts = {
    ...given,
    ...flow,
    transport,
    accessTokens,
    ed25519Signatures: new Ed25519Signatures(),
    attemptStore: new AttemptStore(given.retention),
    healthRecorder,
    transformPool,
    batchSizes: new BatchSizes(),
    requestStyle: requestStyleOf(settings),
    retrySchedule: settings.RETRY_SCHEDULE,
    attemptTimeoutMs,
    random,
  };
  const recorders: readonly Stoppable[] = [{ name: 'health recorder', stop: () => healthRecorder.stop() }];
  const connections: readonly Stoppable[] = [
    { name: 'access tokens', stop: async () => accessTokens.close() },
    { name: 'transport', stop: async () => gotTransport.close() },
    { name: 'transformations', stop: () => transformPool.close() },
  ];
  return {
    parts,
    slots: flow.slots,
    accessTokenStore,
    unprovenRequests,
    receiverCertificates,
    verifier: new Verifier({ ...given, ...parts, unprovenRequests }),
    recorders,
    connections,
  };
}

/** What decides how many attempts are running, and which held delivery goes next. */
function openFlow(
  { WORKER_CONCURRENCY: quick, WORKER_SLOW_CONCURRENCY: slow = quick * SLOW_FACTOR }: DeliverySettings,
  given: OpenDeliveryParts,
) {
  const slots = new Slots({ quick, slow, onCapacity: given.onCapacity, clock: steadyClock, measureTurn });
  const concurrency = new Concurrency({
    slots,
    onSlotFree: () => releaser.slotIsFree(),
    maxPerEndpoint: quick,
    sharePerEndpoint: Math.max(Math.floor(quick / ENDPOINT_SHARE), 1),
    maxUnknown: Math.max(Math.floor(quick / UNKNOWN_SHARE), 1),
    patienceMs: PERMIT_PATIENCE_MS,
  });
  const oldestEvents = new OldestEvents(given.redis, given.shards);
  const releaser = new Releaser({ ...given, oldestEvents, concurrency });
  return { slots, concurrency, oldestEvents, releaser };
}

/** To allowed addresses only, directly or through the proxy. */
function openGotTransport(
  settings: DeliverySettings,
  { emit }: OpenDeliveryParts,
  receiverCertificates: ReceiverCertificates,
): GotTransport {
  const { DELIVERY_PROXY_URL: proxy, DELIVERY_CONNECT_TIMEOUT: connectTimeoutMs } = settings;
  const addressPolicy = new AddressPolicy({
    allowedCidrs: settings.DELIVERY_ALLOWED_CIDRS,
    deniedCidrs: settings.DELIVERY_DENIED_CIDRS,
  });
  return new GotTransport({
    timeoutMs: settings.DELIVERY_TIMEOUT,
    connectTimeoutMs,
    readBytes: settings.RESPONSE_BYTES_READ,
    keptBytes: settings.RESPONSE_BYTES_KEPT,
    onCertificate: (host, validity) => receiverCertificates.note(host, validity),
    route: proxy
      ? new ProxyRoute({ addressPolicy, emit, proxy, connectTimeoutMs })
      : new DirectRoute({
          addressPolicy,
          emit,
          resolveName: new NameCache(lookUpName, steadyClock).resolveName,
        }),
  });
}

function requestStyleOf(settings: DeliverySettings): RequestStyle {
  return {
    userAgent: USER_AGENT,
    signatureHeader: { name: settings.SIGNATURE_HEADER, prefix: settings.SIGNATURE_PREFIX },
    tellsTrace: settings.TRACEPARENT_TO_RECEIVERS,
    cloudEvents: { source: settings.SOURCE, publicUrl: settings.PUBLIC_URL },
  };
}
