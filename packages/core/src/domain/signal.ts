import type { ErrorCode } from '../platform/app-error';
import type { RedisBackSignal, RedisErrorSignal } from '../platform/redis-connect';
import type { RedisRevivedSignal } from '../platform/redis-keeper';
import type { RedisUnsafeSignal } from '../platform/redis-safety';
import type { AccountId } from './account';
import type { RefusalReason } from './address-ranges';
import type { AttemptOutcome, AttemptTimings } from './attempt';
import type { DeliveryId, HoldReason, RequestTrigger, SlowReason } from './delivery';
import type { EndStatus } from './delivery-log';
import type { DisabledReason, EndpointId } from './endpoint';
import type { EventId } from './event';
import type { WorkedQueue } from './queues';
import type { ReplayEndStatus, ReplayId, ReplayMode } from './replay';
import type { AttemptSpan, RequestSpan, Span } from './trace';
import type { Door } from './usage';

/** Why the API hung up on a client without taking its request. */
export const connectionRefusals = [
  'malformed',
  'headers_too_large',
  'too_slow',
  'too_many',
  'pipelined',
] as const;
export type ConnectionRefusal = (typeof connectionRefusals)[number];

/** Why there is nothing more for somebody who follows an account's changes. */
export const streamEnds = ['too_slow', 'stopping', 'unauthenticated', 'unverified', 'time_over'] as const;
export type StreamEnd = (typeof streamEnds)[number];

/** The doors that an event can come in by. */
export const eventSources = ['http', 'queue'] as const;

/**
 * The facts that our logic announces, by name. Logging, metrics and tracing listen. A signal is observation
 * only: nothing that the product needs may hang on a listener. None holds a secret or a payload.
 */
export type Signal =
  | {
      readonly name: 'request.completed';
      readonly requestId: string;
      readonly method: HttpMethod;
      /** The route's pattern, such as `/v1/webhooks/:id`, so that it can be a metric's label. */
      readonly route: string;
      readonly status: number;
      readonly durationMs: number;
      readonly clientAddress?: string;
      readonly accountId?: AccountId;
      /** Whose key it was, if it was a good one. */
      readonly keyId?: string;
      /** Whose portal session, if it was one. */
      readonly sessionId?: string;
      /** Of the error that it was answered with. */
      readonly code?: ErrorCode;
      readonly span?: RequestSpan;
    }
  | {
      readonly name: 'connection.refused';
      readonly reason: ConnectionRefusal;
      readonly clientAddress?: string;
    }
  | {
      readonly name: 'request.failed';
      readonly requestId: string;
      readonly error: unknown;
      readonly traceId?: string;
    }
  | {
      readonly name: 'event.accepted';
      readonly source: (typeof eventSources)[number];
      readonly accountId: AccountId;
      readonly eventId: EventId;
      readonly type: string;
      readonly bytes: number;
      readonly requestId?: string;
      readonly traceId?: string;
    }
  | {
      /** It goes to many: a worker fans it out. */
      readonly name: 'event.queued';
      readonly accountId: AccountId;
      readonly eventId: EventId;
      readonly type: string;
      readonly durationMs: number;
      readonly span?: Span;
    }
  | {
      /** Its account is being erased, or was. */
      readonly name: 'event.dropped';
      readonly jobId: string;
      readonly accountId: AccountId;
    }
  | { readonly name: 'account.erasing'; readonly accountId: AccountId }
  | { readonly name: 'account.erased'; readonly accountId: AccountId; readonly durationMs: number }
  | { readonly name: 'event.payload_erased'; readonly accountId: AccountId; readonly eventId: EventId }
  | {
      readonly name: 'event.rejected';
      readonly jobId: string;
      readonly code: string;
      readonly reason: string;
    }
  | {
      /** An account is told something about one of its endpoints. */
      readonly name: 'operational_event.raised';
      readonly accountId: AccountId;
      readonly eventId: EventId;
      readonly type: string;
    }
  | {
      readonly name: 'event.fanned_out';
      readonly accountId: AccountId;
      readonly eventId: EventId;
      readonly type: string;
      readonly deliveries: number;
      /** The endpoints that it goes to: for listeners in this process, never written down. */
      readonly receivers: readonly { readonly id: EndpointId }[];
      readonly acceptedAt: number;
      readonly durationMs: number;
      readonly span?: Span;
    }
  | ({
      readonly name: 'delivery.attempted';
      readonly deliveryId: DeliveryId;
      readonly accountId: AccountId;
      readonly eventId: EventId;
      readonly endpointId: EndpointId;
      readonly type: string;
      readonly attempt: number;
      readonly outcome: AttemptOutcome;
      readonly responseStatus?: number;
      readonly durationMs: number;
      /** From the acceptance of its event to the start of its first attempt; not of later ones, nor if it was held. */
      readonly firstLagMs?: number;
      readonly nextDelayMs?: number;
      readonly span?: AttemptSpan;
    } & AttemptTimings)
  | {
      /** The proxy for deliveries was out of order: it is sent later, and this was no attempt. */
      readonly name: 'delivery.unsent';
      readonly endpointId: EndpointId;
      readonly eventId: EventId;
      readonly error: string;
      readonly traceId?: string;
    }
  | {
      /** A delivery would have gone to an address that none may go to. For operators: clients don't see it. */
      readonly name: 'delivery.blocked';
      /** As the URL says it: a name, or the address itself. */
      readonly host: string;
      readonly address: string;
      readonly reason: RefusalReason;
    }
  | {
      readonly name: 'delivery.ended';
      readonly deliveryId: DeliveryId;
      /** Absent: the job did not say. */
      readonly accountId?: AccountId;
      readonly eventId: EventId;
      readonly endpointId: EndpointId;
      readonly status: EndStatus;
      /** From the acceptance of the event, or from when somebody requested it, until now. */
      readonly lagMs: number;
      readonly traceId?: string;
    }
  | {
      /** It is sent apart from its schedule: once more, or for the first time. */
      readonly name: 'delivery.requested';
      readonly deliveryId: DeliveryId;
      readonly accountId: AccountId;
      readonly endpointId: EndpointId;
      readonly eventId: EventId;
      readonly trigger: RequestTrigger;
    }
  | {
      /** Some more of it was counted or sent. */
      readonly name: 'replay.progressed';
      readonly replayId: ReplayId;
      readonly accountId: AccountId;
      readonly endpointId: EndpointId;
    }
  | {
      readonly name: 'replay.ended';
      readonly replayId: ReplayId;
      readonly accountId: AccountId;
      readonly endpointId: EndpointId;
      readonly mode: ReplayMode;
      readonly status: ReplayEndStatus;
      readonly found: number;
      readonly enqueued: number;
    }
  | {
      /** An attempt, or what follows from it, could not be written; it is tried again. */
      readonly name: 'delivery.follow_up_failed';
      readonly deliveryId: DeliveryId;
      readonly error: unknown;
    }
  | {
      readonly name: 'delivery.held';
      readonly accountId: AccountId;
      readonly endpointId: EndpointId;
      readonly eventId: EventId;
      readonly reason: HoldReason;
      readonly traceId?: string;
    }
  | {
      /** An attempt has counted among the slow ones. */
      readonly name: 'delivery.moved';
      readonly endpointId: EndpointId;
      readonly eventId: EventId;
      readonly reason: SlowReason;
    }
  | {
      readonly name: 'breaker.opened';
      readonly accountId: AccountId;
      readonly endpointId: EndpointId;
      /** In a row. */
      readonly failures: number;
      readonly openForMs: number;
    }
  | { readonly name: 'breaker.closed'; readonly accountId: AccountId; readonly endpointId: EndpointId }
  | { readonly name: 'listener.connected'; readonly endpointId: EndpointId }
  | { readonly name: 'listener.lost'; readonly endpointId: EndpointId; readonly reason: string }
  | { readonly name: 'endpoint.created'; readonly accountId: AccountId; readonly endpointId: EndpointId }
  | { readonly name: 'endpoint.updated'; readonly accountId: AccountId; readonly endpointId: EndpointId }
  | { readonly name: 'endpoint.deleted'; readonly accountId: AccountId; readonly endpointId: EndpointId }
  | { readonly name: 'endpoint.enabled'; readonly accountId: AccountId; readonly endpointId: EndpointId }
  | {
      readonly name: 'endpoint.disabled';
      readonly accountId: AccountId;
      readonly endpointId: EndpointId;
      readonly reason: DisabledReason;
    }
  | {
      /** Somebody followed the changes of an account, and this service ended it. */
      readonly name: 'change_stream.ended';
      readonly accountId: AccountId;
      readonly reason: StreamEnd;
    }
  | {
      readonly name: 'job.interrupted';
      readonly queue: string;
      readonly jobId: string;
      readonly error: unknown;
    }
  | {
      readonly name: 'job.failed';
      readonly queue: string;
      readonly jobId: string;
      readonly error: unknown;
      /** Whether it does not run again by itself: it is a dead letter. */
      readonly isForGood: boolean;
    }
  | {
      /** This version can't read its data: it is delayed. */
      readonly name: 'job.too_new';
      readonly queue: string;
      readonly jobId: string;
      /** The form that its data have. */
      readonly version: number;
    }
  | { readonly name: 'dead_letter.redriven'; readonly queue: string; readonly jobId: string }
  | { readonly name: 'dead_letter.dropped'; readonly queue: string; readonly jobId: string }
  /** There were too many of them, and it was the oldest. */
  | { readonly name: 'dead_letter.displaced'; readonly queue: string; readonly jobId: string }
  | {
      /** Something on the side did not work out that nothing waits for. */
      readonly name: 'task.failed';
      readonly task:
        | 'record health'
        | 'report worker'
        | 'count usage'
        | 'release events'
        | 'raise operational event'
        | 'look at endpoint'
        | 'look at shards'
        | 'bring jobs to their shards'
        | 'put due deliveries back'
        | 'connect listener'
        | 'disconnect listener'
        | 'answer for listener'
        | 'look after listeners'
        | 'read mailbox'
        | 'look at watched accounts'
        | 'write changes'
        | 'read changes';
      readonly error: unknown;
    }
  | {
      /** The queues are split over another number of shards from now on. */
      readonly name: 'shards.changed';
      readonly inForce: number;
    }
  | {
      /** This process was told another number of shards than the last one that started: it goes by that one's. */
      readonly name: 'shards.disagree';
      readonly wanted: number;
      readonly inForce: number;
    }
  | {
      /** No worker takes jobs from these: what is put there waits. */
      readonly name: 'shards.unserved';
      /** Their numbers, from 0. */
      readonly shards: string;
    }
  | {
      /** What an account asked for was refused, because it stores as much as it may. */
      readonly name: 'quota.exceeded';
      readonly accountId: AccountId;
      readonly door: Door;
    }
  | { readonly name: 'attempts.archived'; readonly count: number }
  /** The archive, or the stream before it, can't be reached or can't serve. It is tried again; deliveries go on. */
  | { readonly name: 'archive.failed'; readonly error: unknown }
  | {
      /** An attempt that the archive's table does not take was put aside. */
      readonly name: 'archive.refused';
      readonly entryId: string;
      readonly reason: string;
    }
  | RedisErrorSignal
  /** What a library wrote to the console. */
  | { readonly name: 'library.warned'; readonly text: string }
  | RedisBackSignal
  | RedisRevivedSignal
  | {
      /** This worker takes nothing from a queue although jobs wait there, and Redis is not the reason. */
      readonly name: 'worker.stalled';
      readonly queue: WorkedQueue;
      readonly forMs: number;
    }
  | RedisUnsafeSignal
  /** There is no key to seal secrets with: they are stored as plain text. */
  | { readonly name: 'secrets.unprotected'; readonly detail: string }
  /** Links to the portal begin with whatever host a request names. */
  | { readonly name: 'public_url.unset'; readonly detail: string }
  | { readonly name: 'process.started'; readonly detail: string }
  | { readonly name: 'process.stopping'; readonly detail: string }
  | { readonly name: 'process.stopped' }
  | { readonly name: 'process.fault'; readonly detail: string; readonly error: unknown };

export type SignalListener = (signal: Signal) => void;
export type Emit = (signal: Signal) => void;

/** Tells every listener, in the order given. A listener that throws is our own bug and is not hidden. */
export function createEmit(listeners: readonly SignalListener[]): Emit {
  return (signal) => {
    for (const listen of listeners) listen(signal);
  };
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'] as const;

/** As OpenTelemetry calls all others. */
export const OTHER_METHOD = '_OTHER';

export const httpMethods = [...METHODS, OTHER_METHOD] as const;

/** What the method of a request is told as, so that strangers can't make up names without end. */
export type HttpMethod = (typeof httpMethods)[number];

export function httpMethodOf(method: string): HttpMethod {
  return METHODS.find((known) => known === method) ?? OTHER_METHOD;
}
