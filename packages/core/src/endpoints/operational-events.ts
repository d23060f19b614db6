import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { isOperational, type operationalTypes } from '../accounts/event-types/built-in';
import type { AccountId } from '../domain/account';
import type { Attempt } from '../domain/attempt';
import { type AuditEntry, auditTargetOf } from '../domain/audit';
import { type DeliveryParts, deliveryIdOf } from '../domain/delivery';
import type { DisabledReason, Endpoint, EndpointId } from '../domain/endpoint';
import { type AcceptedEvent, EVENT_ID_PREFIX, type EventId } from '../domain/event';
import type { Emit } from '../domain/signal';
import { createLru } from '../platform/caches';
import { type Clock, formatTime } from '../platform/clock';
import { encodeBytes, encodeTime } from '../platform/ids';
import { settledWithin } from '../platform/timers';
import type { EventQueue } from '../queue/bullmq-event-queue';
import type { Subscriptions } from './subscriptions';

export interface OperationalEventsParts {
  readonly subscriptions: Subscriptions;
  readonly eventQueue: EventQueue;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Raise operational events of an account. */
export type RaiseEvents = (accountId: AccountId, events: readonly OperationalEvent[]) => void;

// The last ones raised: an endpoint in trouble raises the same event repeatedly, and each would cost a
// fan-out.
const REMEMBERED = 10_000;
const STOP_PATIENCE_MS = 3_000;

/**
 * Tells accounts about their webhooks, by normal events on the events queue, to the subscribers of these
 * types. It is best effort: nothing waits for it, and a failure is a signal.
 */
export class OperationalEvents {
  readonly #underWay = new Set<Promise<void>>();
  readonly #raised = createLru<EventId, true>(REMEMBERED);

  constructor(private readonly parts: OperationalEventsParts) {}

  readonly raise: RaiseEvents = (accountId, events) => {
    for (const event of events) this.#track(this.#raiseOne(accountId, event));
  };

  /** Give running ones time to reach the queue. Those that do not are told of. */
  async stop(): Promise<void> {
    if (await settledWithin(STOP_PATIENCE_MS, Promise.all(this.#underWay))) return;
    const late = [...this.#underWay];
    this.#underWay.clear();
    for (const _ of late) this.#tellFailed(new Error(`It took longer than ${STOP_PATIENCE_MS} ms.`));
  }

  async #raiseOne(accountId: AccountId, event: OperationalEvent): Promise<void> {
    const { subscriptions, eventQueue, clock, emit } = this.parts;
    const { type, data } = event;
    const acceptedAt = clock();
    const id = operationalEventId(accountId, event, acceptedAt);
    if (this.#raised.has(id)) return;
    const { subscribers } = (await subscriptions.current(accountId)).subscribedTo(type);
    if (subscribers.length === 0) return;
    await eventQueue.add({ id, accountId, type, body: JSON.stringify({ type, data }), acceptedAt });
    this.#raised.set(id, true);
    emit({ name: 'operational_event.raised', accountId, eventId: id, type });
  }

  #tellFailed(error: unknown): void {
    this.parts.emit({ name: 'task.failed', task: 'publish an operational event', error });
  }

  #track(raising: Promise<void>): void {
    const tracked = raising
      .catch((error: unknown) => {
        // Else it was told of already.
        if (this.#underWay.has(tracked)) this.#tellFailed(error);
      })
      .finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }
}

type OperationalType = (typeof operationalTypes)[number];

type Named<Type extends OperationalType> = Type extends OperationalType
  ? { readonly type: Type['name']; readonly data: z.input<Type['data']> }
  : never;

/** An event about one of an account's endpoints, or about an entry of its audit log. */
export type OperationalEvent = {
  readonly endpointId: EndpointId | AuditEntry['id'];
} & Named<OperationalType>;

const HOUR_MS = 3_600_000;
const DIGEST_CHARACTERS = 12;

/**
 * The same for all events of one type about one endpoint within an hour of the clock. Every part that knows
 * an event by its id accepts it only once.
 */
export function operationalEventId(
  accountId: AccountId,
  { endpointId, type }: Pick<OperationalEvent, 'endpointId' | 'type'>,
  now: number,
): EventId {
  const hourStart = Math.floor(now / HOUR_MS) * HOUR_MS;
  const digest = createHash('sha256').update(`${accountId}:${endpointId}:${type}:${hourStart}`).digest();
  return `${EVENT_ID_PREFIX}_${encodeTime(hourStart)}${encodeBytes(digest, DIGEST_CHARACTERS)}` as EventId;
}

/** An attempt that has ended, and its effects. */
export interface AttemptAftermath {
  readonly event: AcceptedEvent;
  readonly endpoint: Endpoint;
  readonly attempt: Attempt;
  readonly isExhausted: boolean;
  /** Why this attempt disabled the endpoint, if it did. */
  readonly disabledAs: DisabledReason | undefined;
  /** When the trouble began that `webhook.failing` reported and this success has ended, if it did. */
  readonly recoveredFrom: number | undefined;
}

/**
 * After this many attempts the default schedule has waited for half an hour: more than a short disturbance,
 * and still early enough to act.
 */
const FAILING_AFTER_ATTEMPTS = 4;

/** Whether `webhook.failing` reports an attempt. Never an attempt that delivers such an event itself. */
export function notifiesOfFailing(eventType: string, { number, outcome }: Attempt): boolean {
  return number === FAILING_AFTER_ATTEMPTS && outcome !== 'delivered' && !isOperational(eventType);
}

/**
 * The operational events after an attempt. None about deliveries of such events themselves: that would never
 * end.
 */
export function eventsOfAttempt(aftermath: AttemptAftermath): OperationalEvent[] {
  if (isOperational(aftermath.event.type)) return [];
  return [failing(aftermath), exhausted(aftermath), disabled(aftermath), recovered(aftermath)].filter(
    (event) => event !== undefined,
  );
}

/** The event for an endpoint that is disabled, whatever the cause. */
export function webhookDisabledEvent(
  { id, url }: Endpoint,
  reason: DisabledReason,
  now: number,
): OperationalEvent {
  return {
    type: 'webhook.disabled',
    endpointId: id,
    data: { webhook_id: id, url, reason, disabled_at: formatTime(now) },
  };
}

/** The event for an entry of the audit log. Refusals raise none: anybody could make them. */
export function auditRecordedEvent(entry: AuditEntry): OperationalEvent {
  const { id, at, actor, action, targetId, address, changes = [] } = entry;
  return {
    type: 'audit.recorded',
    // Each entry has an event of its own.
    endpointId: id,
    data: {
      id,
      created_at: formatTime(at),
      actor,
      action,
      target: auditTargetOf(action, targetId),
      address: address ?? null,
      request_id: entry.requestId ?? null,
      client_request_id: entry.clientRequestId ?? null,
      changes,
    },
  };
}

/** The event for an endpoint whose verification has ended, well or not; none while tries are to come. */
export function verificationEvents({ id, url, verification, updatedAt }: Endpoint): OperationalEvent[] {
  if (verification?.status === 'verified') {
    const { method, verifiedAt = updatedAt } = verification;
    const data = { webhook_id: id, url, method, verified_at: formatTime(verifiedAt) };
    return [{ type: 'webhook.verified', endpointId: id, data }];
  }
  const { method, status, error } = verification ?? {};
  if (status !== 'failed' || method === undefined || error === undefined) return [];
  const data = { webhook_id: id, url, method, error, failed_at: formatTime(updatedAt) };
  return [{ type: 'webhook.verification_failed', endpointId: id, data }];
}

function failing({ event, endpoint, attempt }: AttemptAftermath): OperationalEvent | undefined {
  if (!notifiesOfFailing(event.type, attempt)) return undefined;
  return {
    type: 'webhook.failing',
    endpointId: endpoint.id,
    data: {
      webhook_id: endpoint.id,
      url: endpoint.url,
      event_id: event.id,
      delivery_id: deliveryIdOf(partsOf(event, endpoint)),
      event_type: event.type,
      attempt_count: attempt.number,
      last_outcome: attempt.outcome,
      last_response_status: attempt.responseStatus ?? null,
    },
  };
}

function exhausted({
  event,
  endpoint,
  attempt,
  isExhausted,
}: AttemptAftermath): OperationalEvent | undefined {
  if (!isExhausted) return undefined;
  return {
    type: 'delivery.exhausted',
    endpointId: endpoint.id,
    data: {
      delivery_id: deliveryIdOf(partsOf(event, endpoint)),
      event_id: event.id,
      webhook_id: endpoint.id,
      event_type: event.type,
      attempt_count: attempt.number,
    },
  };
}

function disabled({ endpoint, attempt, disabledAs }: AttemptAftermath): OperationalEvent | undefined {
  return disabledAs && webhookDisabledEvent(endpoint, disabledAs, endOf(attempt));
}

function recovered({ endpoint, attempt, recoveredFrom }: AttemptAftermath): OperationalEvent | undefined {
  if (recoveredFrom === undefined) return undefined;
  const { id, url } = endpoint;
  const data = {
    webhook_id: id,
    url,
    first_failed_at: formatTime(recoveredFrom),
    recovered_at: formatTime(endOf(attempt)),
  };
  return { type: 'webhook.recovered', endpointId: id, data };
}

function partsOf(event: AcceptedEvent, endpoint: Endpoint): DeliveryParts {
  return { eventId: event.id, endpointId: endpoint.id };
}

function endOf({ startedAt, durationMs }: Attempt): number {
  return startedAt + durationMs;
}
