import type { DedupeStore } from './dedupe-store';
import type { EventOf, WebhookEvent } from './event';
import type { VerifyOptions } from './verify';

/**
 * Handles an event. It is handled once this returns; what it throws makes the service send the event again. One of
 * `answers` says something else; any other value that it returns is ignored.
 */
export type Handler<Event> = (event: Event) => unknown;

/** A handler for each type of event that is of interest. */
export type Handlers<Events extends object> = string extends keyof Events
  ? Readonly<Record<string, Handler<WebhookEvent>>>
  : { readonly [Type in keyof Events & string]?: Handler<EventOf<Events, Type>> };

/** What all adapters take. */
export type ReceiverOptions<Events extends object = Record<string, unknown>> = VerifyOptions &
  HandlingOptions<Events>;

export interface HandlingOptions<Events extends object> {
  /** `webhook.verification` needs none: the service's challenge is answered once its signature was verified. */
  readonly on: Handlers<Events>;
  /** For types that `on` has no handler for. Default: they are answered with 204. */
  readonly otherwise?: Handler<WebhookEvent>;
  /**
   * Of a request with several events: whether those after one that was not handled are to come again with it, and are not
   * handled before. For a webhook with `ordering: strict`. Default: each is handled by itself.
   */
  readonly inOrder?: boolean;
  /** Where to note what was handled, so that an event that comes twice is handled once. Default: nowhere. */
  readonly dedupe?: DedupeStore;
  /**
   * How long a handler may take before another delivery of its event may be handled, in milliseconds: longer than any
   * does. Default 120,000. Means nothing without `dedupe`.
   */
  readonly leaseMs?: number;
  /** The longest body that is taken, in bytes; a longer one is answered with 413. Default 1.25 MiB: more is needed only
   * where `MAX_EVENT_BYTES` of the service is more. */
  readonly maxBytes?: number;
  /**
   * Told of each webhook that was not handled, and why: a `WebhookVerificationError`, or what a handler or the store
   * threw. Default: writes it to the console.
   */
  readonly onError?: (error: unknown) => void;
}
