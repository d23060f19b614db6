import type { DedupeStore } from './dedupe-store';
import type { EventOf, WebhookEvent } from './event';
import type { VerifyOptions } from './verify';

/**
 * Handles an event. When it returns, the event is handled. When it throws, the service sends the event again. It can return
 * one of `responses` to tell the service something else. Other values are ignored.
 */
export type Handler<Event> = (event: Event) => unknown;

/** The handlers, by event type. */
export type Handlers<Events extends object> = string extends keyof Events
  ? Readonly<Record<string, Handler<WebhookEvent>>>
  : { readonly [Type in keyof Events & string]?: Handler<EventOf<Events, Type>> };

/** The options of all adapters. */
export type ReceiverOptions<Events extends object = Record<string, unknown>> = VerifyOptions &
  HandlingOptions<Events>;

export interface HandlingOptions<Events extends object> {
  /** `webhook.verification` needs none: the service's challenge gets its response once its signature was verified. */
  readonly on: Handlers<Events>;
  /** Handles events of all other types. Default: they get 204. */
  readonly otherwise?: Handler<WebhookEvent>;
  /**
   * Whether an event that fails stops the rest of its batch: the events after it are not handled, and are sent again with
   * it. For a webhook with `ordering: strict`. Default: false.
   */
  readonly inOrder?: boolean;
  /** Stores the ids of handled events, so that an event that arrives twice is handled once. Default: none. */
  readonly dedupe?: DedupeStore;
  /**
   * The longest time that a handler takes, in milliseconds. After that, another delivery of the same event may be handled.
   * Default 120,000. Has no effect without `dedupe`.
   */
  readonly leaseMs?: number;
  /** The longest accepted body, in bytes. A longer one gets 413. Default 1.25 MiB. Raise it only if the service
   * has a higher `MAX_EVENT_BYTES`. */
  readonly maxBytes?: number;
  /**
   * Called for each webhook that was not handled, with the cause: a `WebhookVerificationError`, or an error of a handler or
   * of the store. Default: writes it to the console.
   */
  readonly onError?: (error: unknown) => void;
}
