import type { ErrorCode } from '../platform/app-error';
import type { ClockRightSignal, ClockSkewedSignal } from '../platform/redis-clock';
import type { RedisBackSignal, RedisErrorSignal } from '../platform/redis-connect';
import type { RedisReopenedSignal } from '../platform/redis-keeper';
import type { RedisUnsafeSignal } from '../platform/redis-safety';
import type { AccountId } from './account';
import type { RefusalReason } from './address-ranges';
import {
  type AttemptOutcome,
  type AttemptTimings,
  type TransformResultKind,
  transportFailures,
} from './attempt';
import type { ContactKind, NotificationId, NotificationTopic } from './contact';
import type { DeliveryId, HoldReason, RequestTrigger, SlowReason } from './delivery';
import type { EndStatus } from './delivery-log';
import type { DisabledReason, EndpointId } from './endpoint';
import type { EventId } from './event';
import type { WorkedQueue } from './queues';
import type { TokenErrorCode } from './receiver-auth';
import type { ReplayEndStatus, ReplayId, ReplayMode } from './replay';
import type { AttemptSpan, RequestSpan, Span } from './trace';
import type { Door } from './usage';
import type { VerificationError, VerificationMethod } from './verification';

/** Why the API closed the connection of a client without taking its request. */
export const connectionRefusals = [
  'malformed',
  'headers_too_large',
  'too_slow',
  'too_many',
  'pipelined',
] as const;
export type ConnectionRefusal = (typeof connectionRefusals)[number];

/** Why a stream of an account's changes ended. */
export const streamEnds = ['too_slow', 'stopping', 'unauthenticated', 'unverified', 'time_limit'] as const;
export type StreamEnd = (typeof streamEnds)[number];

/** A search by what events contain, or anything else. */
export const historyReadKinds = ['list', 'search'] as const;
export type HistoryReadKind = (typeof historyReadKinds)[number];
export const historyReadResults = ['answered', 'failed'] as const;
export type HistoryReadResult = (typeof historyReadResults)[number];

/** The result of a try to send a message to a contact. `retried`: it failed, and another try follows. */
export const notificationResults = ['sent', 'retried', 'failed', 'cancelled'] as const;
export type NotificationResult = (typeof notificationResults)[number];

/** The result of a token request. */
export const tokenResults = [
  'granted',
  'refused',
  'unreadable',
  'expired',
  'unsent',
  ...transportFailures,
] as const;
export type TokenResult = (typeof tokenResults)[number];

/** What code can bring down: the instance of WebAssembly that it runs in, or the thread around that. */
export const brokenParts = ['instance', 'thread'] as const;
export type BrokenPart = (typeof brokenParts)[number];

/** The ways that an event can come in by. */
export const eventSources = ['http', 'queue'] as const;

/**
 * The facts that the product's logic announces, by name. Logging, metrics and tracing listen. A signal is for
 * observation only: nothing that the product needs may depend on a listener. No signal holds a secret or a
 * payload.
 */
interface Signals {
  'request.completed': {
    requestId: string;
    method: HttpMethod;
    /** The route's pattern, such as `/v1/webhooks/:id`, so that it can be a metric's label. */
    route: string;
    status: number;
    durationMs: number;
    clientAddress?: string;
    accountId?: AccountId;
    /** The API key of the request, if it was valid. */
    keyId?: string;
    /** The portal session of the request, if there was one. */
    sessionId?: string;
    /** The code of the error response. */
    code?: ErrorCode;
    span?: RequestSpan;
  };
  'connection.refused': { reason: ConnectionRefusal; clientAddress?: string };
  'request.failed': { requestId: string; error: unknown; traceId?: string };
  'event.accepted': {
    source: (typeof eventSources)[number];
    accountId: AccountId;
    eventId: EventId;
    type: string;
    bytes: number;
    requestId?: string;
    traceId?: string;
  };
  /** It has many receivers: a worker fans it out. */
  'event.queued': { accountId: AccountId; eventId: EventId; type: string; durationMs: number; span?: Span };
  /** It is sent later. Times are milliseconds since the Unix epoch. */
  'event.scheduled': { accountId: AccountId; eventId: EventId; type: string; deliverAt: number };
  'event.rescheduled': { accountId: AccountId; eventId: EventId; deliverAt: number };
  /** Before it was due. */
  'event.cancelled': { accountId: AccountId; eventId: EventId };
  /** Its account is being erased, or was. */
  'event.dropped': { jobId: string; accountId: AccountId };
  'signing_key.rotated': { accountId: AccountId; kid: string; immediate: boolean };
  /** A message to a contact is to be sent. */
  'notification.queued': {
    accountId: AccountId;
    notificationId: NotificationId;
    kind: ContactKind;
    topic: NotificationTopic;
  };
  'notification.attempted': {
    accountId: AccountId;
    notificationId: NotificationId;
    kind: ContactKind;
    topic: NotificationTopic;
    result: NotificationResult;
    /** In a closed form, without what the other side has written. */
    error?: string;
  };
  'account.erasing': { accountId: AccountId };
  'account.erased': { accountId: AccountId; durationMs: number };
  'event.payload_erased': { accountId: AccountId; eventId: EventId };
  'event.rejected': { jobId: string; code: string; reason: string };
  /** An account gets an event about one of its own endpoints. */
  'operational_event.raised': { accountId: AccountId; eventId: EventId; type: string };
  /** So many requests were refused at once that these are in no audit log. */
  'audit.refusals_left_out': { count: number };
  'event.fanned_out': {
    accountId: AccountId;
    eventId: EventId;
    type: string;
    deliveries: number;
    /** The endpoints that it goes to: for listeners in this process, never stored. */
    receivers: readonly { id: EndpointId }[];
    acceptedAt: number;
    durationMs: number;
    span?: Span;
  };
  'delivery.attempted': {
    deliveryId: DeliveryId;
    accountId: AccountId;
    eventId: EventId;
    endpointId: EndpointId;
    type: string;
    attempt: number;
    outcome: AttemptOutcome;
    responseStatus?: number;
    durationMs: number;
    /**
     * From the acceptance of the event to the start of its first attempt. Absent for later attempts, and if
     * the delivery was held.
     */
    firstLagMs?: number;
    nextDelayMs?: number;
    span?: AttemptSpan;
  } & AttemptTimings;
  /** The code of its endpoint was run for a delivery, before it is sent. */
  'delivery.transformed': {
    accountId: AccountId;
    eventId: EventId;
    endpointId: EndpointId;
    result: TransformResultKind;
    /** Of processor time. */
    tookMs: number;
  };
  /** All that code has cost its account: runs and tries, and threads that had to be started because of it. */
  'transformation.charged': {
    accountId: AccountId;
    /** Of processor time. */
    tookMs: number;
  };
  /** Code could not be stopped in time, or brought down its sandbox. There is a new one. */
  'transformation.broke_sandbox': {
    accountId: AccountId;
    part: BrokenPart;
    /** Of processor time: the run. */
    tookMs: number;
    /** For how long this process runs no code of the account. 0: it goes on. */
    pausedForMs: number;
  };
  /** The proxy for deliveries was out of order. The delivery is sent later, and this was no attempt. */
  'delivery.unsent': {
    endpointId: EndpointId;
    eventId: EventId;
    error: string;
    /** For how long the account's transformations are paused. Absent: they are not the reason. */
    pausedForMs?: number;
    traceId?: string;
  };
  /** A delivery would have gone to a forbidden address. For operators: clients don't see it. */
  'delivery.blocked': {
    /** As the URL says it: a name, or the address itself. */
    host: string;
    address: string;
    reason: RefusalReason;
  };
  /** An authorization server was asked for the access token of an endpoint. */
  'token.requested': {
    accountId: AccountId;
    endpointId: EndpointId;
    result: TokenResult;
    responseStatus?: number;
    error?: TokenErrorCode;
    durationMs: number;
  };
  'delivery.ended': {
    deliveryId: DeliveryId;
    /** Absent: the job did not say. */
    accountId?: AccountId;
    eventId: EventId;
    endpointId: EndpointId;
    status: EndStatus;
    /** From the acceptance of the event, or from the last request, until now. */
    lagMs: number;
    traceId?: string;
  };
  /** The delivery is sent apart from its schedule: once more, or for the first time. */
  'delivery.requested': {
    deliveryId: DeliveryId;
    accountId: AccountId;
    endpointId: EndpointId;
    eventId: EventId;
    trigger: RequestTrigger;
  };
  /** Some more of it was counted or sent. */
  'replay.progressed': { replayId: ReplayId; accountId: AccountId; endpointId: EndpointId };
  'replay.ended': {
    replayId: ReplayId;
    accountId: AccountId;
    endpointId: EndpointId;
    mode: ReplayMode;
    status: ReplayEndStatus;
    found: number;
    enqueued: number;
  };
  /** An attempt, or a step after it, could not be written. It is tried again. */
  'delivery.follow_up_failed': { deliveryId: DeliveryId; error: unknown };
  'delivery.held': {
    accountId: AccountId;
    endpointId: EndpointId;
    eventId: EventId;
    reason: HoldReason;
    traceId?: string;
  };
  /** Its receiver found a request with several events too large: they go in two. */
  'delivery.batch_halved': { accountId: AccountId; endpointId: EndpointId; events: number };
  /** An attempt now counts as slow. */
  'delivery.moved': { endpointId: EndpointId; eventId: EventId; reason: SlowReason };
  'breaker.opened': {
    accountId: AccountId;
    endpointId: EndpointId;
    /** In a row. */
    failures: number;
    openForMs: number;
  };
  'breaker.closed': { accountId: AccountId; endpointId: EndpointId };
  'listener.connected': { endpointId: EndpointId };
  'listener.lost': { endpointId: EndpointId; reason: string };
  'endpoint.created': { accountId: AccountId; endpointId: EndpointId };
  'endpoint.updated': { accountId: AccountId; endpointId: EndpointId };
  'endpoint.deleted': { accountId: AccountId; endpointId: EndpointId };
  'endpoint.enabled': { accountId: AccountId; endpointId: EndpointId };
  'endpoint.disabled': { accountId: AccountId; endpointId: EndpointId; reason: DisabledReason };
  /** Its receiver has proved that it wants the requests. */
  'endpoint.verified': { accountId: AccountId; endpointId: EndpointId; method: VerificationMethod };
  'endpoint.verification_failed': {
    accountId: AccountId;
    endpointId: EndpointId;
    method: VerificationMethod;
    error: VerificationError;
    /** Whether no other try is to come by itself. */
    isLast: boolean;
  };
  /** This service ended a stream of an account's changes. */
  'change_stream.ended': { accountId: AccountId; reason: StreamEnd };
  'job.interrupted': { queue: string; jobId: string; error: unknown };
  'job.failed': {
    queue: string;
    jobId: string;
    error: unknown;
    /** Whether the job does not run again by itself: it is a dead letter. */
    isForGood: boolean;
  };
  /** This version can't read its data: it is delayed. */
  'job.too_new': {
    queue: string;
    jobId: string;
    /** The version of its data. */
    version: number;
  };
  'dead_letter.redriven': { queue: string; jobId: string };
  'dead_letter.dropped': { queue: string; jobId: string };
  /** There were too many of them, and it was the oldest. */
  'dead_letter.oldest_deleted': { queue: string; jobId: string };
  /** A background task failed that nothing waits for. */
  'task.failed': {
    task:
      | 'store the health of webhooks'
      | 'report the state of this worker'
      | 'count the load of accounts'
      | 'sample the queues and workers'
      | 'count stored bytes'
      | 'release events'
      | 'publish an operational event'
      | 'write a refusal to the audit log'
      | 'complete the audit log'
      | 'release held deliveries'
      | 'send waiting deliveries sooner'
      | 'verify webhooks'
      | 'notify contacts'
      | 'store the expiry of certificates'
      | 'read the number of shards'
      | 'move jobs to their shards'
      | 'find finished deliveries'
      | 'restore the bounds of moved records'
      | 'queue due deliveries'
      | 'publish due events'
      | 'connect a listener'
      | 'disconnect a listener'
      | 'pass on the answer of a listener'
      | 'ask whether a delivery to a listener may begin'
      | 'expire listeners'
      | 'read the messages of listeners'
      | 'find accounts with open streams'
      | 'write to the stream of changes'
      | 'read the stream of changes';
    error: unknown;
  };
  /** The queues are split over another number of shards from now on. */
  'shards.changed': { inForce: number };
  /**
   * This process has another number of shards configured than the last one that started. It uses that one's
   * number.
   */
  'shards.disagree': { wanted: number; inForce: number };
  /** No worker takes jobs from these shards: jobs that are put there wait. */
  'shards.unserved': {
    /** Their numbers, from 0. */
    shards: string;
  };
  /** A request of an account was refused, because it stores as much as it may. */
  'quota.exceeded': { accountId: AccountId; door: Door };
  /** Finished deliveries, and events without deliveries, were moved from Redis to the history. */
  'history.moved': { count: number; durationMs: number };
  /** A page, or another answer, was read from the history, or could not be. */
  'history.read': { kind: HistoryReadKind; result: HistoryReadResult; durationMs: number };
  /** PostgreSQL or Redis can't be reached or can't serve. Finished deliveries stay in Redis and are tried again. */
  'history.failed': { error: unknown };
  /** A day of the history is older than it is kept. */
  'history.day_dropped': { table: string };
  /** The history refused a finished delivery. It stays in Redis, and is not tried again. */
  'history.row_refused': {
    accountId: AccountId;
    eventId: EventId;
    /** Absent: an event without deliveries. */
    deliveryId?: DeliveryId;
    code: string;
    reason: string;
  };
  'redis.error': RedisErrorSignal;
  /** A library wrote this to the console. */
  'library.warned': { text: string };
  'redis.back': RedisBackSignal;
  'redis.reopened': RedisReopenedSignal;
  /** This worker takes nothing from a queue although jobs wait there, and Redis is not the reason. */
  'worker.stalled': { queue: WorkedQueue; forMs: number };
  'redis.unsafe': RedisUnsafeSignal;
  'clock.skewed': ClockSkewedSignal;
  'clock.right': ClockRightSignal;
  /** There is no key to seal secrets with: they are stored as plain text. */
  'secrets.unprotected': { detail: string };
  /** Links to the portal begin with the host that a request names. */
  'public_url.unset': { detail: string };
  /** The service's retry schedule takes longer than a delivery may be open. */
  'retry_schedule.too_long': { detail: string };
  'process.started': { detail: string };
  'process.stopping': { detail: string };
  'process.stopped': object;
  'process.fault': { detail: string; error: unknown };
}

export type Signal = {
  [Name in keyof Signals]: { readonly name: Name } & Readonly<Signals[Name]>;
}[keyof Signals];
export type SignalNamed<Name extends Signal['name']> = Extract<Signal, { readonly name: Name }>;

export type SignalLevel = 'error' | 'warn' | 'info' | 'debug';

/**
 * The level that each signal is logged at. Metrics count whatever goes as it should: a line for each delivery
 * would cost more than much of the work. Signals that clients can cause at will are `debug`: otherwise they
 * could fill the log.
 */
const signalLevels: {
  readonly [Name in Signal['name']]: SignalLevel | ((signal: SignalNamed<Name>) => SignalLevel);
} = {
  'request.completed': ({ status }) => (status < 400 ? 'debug' : 'info'),
  'connection.refused': 'debug',
  'request.failed': 'error',
  'event.accepted': 'debug',
  'event.queued': 'debug',
  'event.scheduled': 'debug',
  'event.rescheduled': 'info',
  'event.cancelled': 'info',
  'event.dropped': 'warn',
  'signing_key.rotated': 'info',
  'notification.queued': 'info',
  'notification.attempted': ({ result }) => (result === 'sent' || result === 'cancelled' ? 'info' : 'warn'),
  'account.erasing': 'info',
  'account.erased': 'info',
  'event.payload_erased': 'info',
  'event.rejected': 'warn',
  'operational_event.raised': 'info',
  'audit.refusals_left_out': 'debug',
  'event.fanned_out': 'debug',
  'delivery.attempted': ({ outcome }) => (outcome === 'delivered' ? 'debug' : 'warn'),
  'delivery.transformed': 'debug',
  'transformation.charged': 'debug',
  // Pauses bound how often a thread is lost. An instance may be lost at each run.
  'transformation.broke_sandbox': ({ part }) => (part === 'thread' ? 'warn' : 'debug'),
  'delivery.unsent': ({ pausedForMs }) => (pausedForMs === undefined ? 'warn' : 'debug'),
  'delivery.blocked': 'warn',
  'token.requested': ({ result }) => (result === 'granted' ? 'debug' : 'warn'),
  'delivery.ended': ({ status }) => (status === 'delivered' ? 'debug' : 'warn'),
  'delivery.requested': 'debug',
  'replay.progressed': 'debug',
  'replay.ended': 'info',
  'delivery.follow_up_failed': 'warn',
  'delivery.held': 'debug',
  'delivery.batch_halved': 'info',
  'delivery.moved': 'debug',
  'breaker.opened': 'warn',
  'breaker.closed': 'info',
  'listener.connected': 'info',
  'listener.lost': 'info',
  'endpoint.created': 'info',
  'endpoint.updated': 'info',
  'endpoint.deleted': 'info',
  'endpoint.enabled': 'info',
  'endpoint.disabled': 'warn',
  'endpoint.verified': 'info',
  'endpoint.verification_failed': 'info',
  'change_stream.ended': 'info',
  'job.interrupted': 'warn',
  'job.failed': 'error',
  'job.too_new': 'warn',
  'dead_letter.redriven': 'info',
  'dead_letter.dropped': 'info',
  'dead_letter.oldest_deleted': 'warn',
  'task.failed': 'warn',
  'shards.changed': 'info',
  'shards.disagree': 'warn',
  'shards.unserved': 'warn',
  'quota.exceeded': 'debug',
  'history.moved': 'debug',
  'history.read': 'debug',
  'history.failed': 'warn',
  'history.day_dropped': 'info',
  'history.row_refused': 'warn',
  'redis.error': 'warn',
  'library.warned': 'warn',
  'redis.back': 'info',
  'redis.reopened': 'warn',
  'worker.stalled': 'error',
  'redis.unsafe': 'warn',
  'clock.skewed': ({ isTooLarge }) => (isTooLarge ? 'error' : 'warn'),
  'clock.right': 'info',
  'secrets.unprotected': 'warn',
  'retry_schedule.too_long': 'warn',
  'public_url.unset': 'warn',
  'process.started': 'info',
  'process.stopping': 'info',
  'process.stopped': 'info',
  'process.fault': 'error',
};

export function levelOf<Name extends Signal['name']>(signal: SignalNamed<Name>): SignalLevel {
  const level = signalLevels[signal.name];
  return typeof level === 'function' ? level(signal) : level;
}

export type SignalListener = (signal: Signal) => void;
export type Emit = (signal: Signal) => void;

/**
 * Tell every listener, in the order given. A listener that throws is a bug in this code and is not hidden.
 */
export function createEmit(listeners: readonly SignalListener[]): Emit {
  return (signal) => {
    for (const listen of listeners) listen(signal);
  };
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'] as const;

/** OpenTelemetry's name for all other methods. */
export const OTHER_METHOD = '_OTHER';

export const httpMethods = [...METHODS, OTHER_METHOD] as const;

/** The reported method of a request. A closed set, so that unknown clients can't make up endless names. */
export type HttpMethod = (typeof httpMethods)[number];

export function httpMethodOf(method: string): HttpMethod {
  return METHODS.find((known) => known === method) ?? OTHER_METHOD;
}
