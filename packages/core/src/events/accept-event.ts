import type { Clock } from '../runtime/clock';
import type { NewId } from '../runtime/ids';
import type { Emit } from '../signals/signals';
import { type AcceptedEvent, type AccountId, EVENT_ID_PREFIX, type EventId } from './event';
import { type PublishedEvent, validateEvent } from './validate-event';

/** The queue of accepted events. `add` resolves once Redis has the event; adding the same id again is harmless. */
export interface EventQueue {
  add(event: AcceptedEvent): Promise<void>;
}

export interface AcceptEventDeps {
  readonly eventQueue: EventQueue;
  readonly newId: NewId;
  readonly clock: Clock;
  readonly emit: Emit;
  readonly maxBytes: number;
}

export interface AcceptEventInput extends PublishedEvent {
  readonly accountId: AccountId;
  readonly requestId: string;
}

/**
 * Takes an event from a producer: checks it, and puts it on the queue. When the promise resolves, Redis has
 * it and it will be delivered; that single `add` is the whole durable act.
 *
 * @throws AppError what `validateEvent` throws, or `storage_unavailable` when Redis did not take it.
 */
export function createAcceptEvent(deps: AcceptEventDeps) {
  return async function acceptEvent(input: AcceptEventInput): Promise<AcceptedEvent> {
    const body = validateEvent(input, deps.maxBytes);
    const event: AcceptedEvent = {
      id: deps.newId(EVENT_ID_PREFIX) as EventId,
      accountId: input.accountId,
      type: input.type,
      body,
      acceptedAt: deps.clock(),
    };
    await deps.eventQueue.add(event);
    deps.emit({
      name: 'event.accepted',
      source: 'http',
      accountId: event.accountId,
      eventId: event.id,
      type: event.type,
      bytes: Buffer.byteLength(body),
      requestId: input.requestId,
    });
    return event;
  };
}

export type AcceptEvent = ReturnType<typeof createAcceptEvent>;
