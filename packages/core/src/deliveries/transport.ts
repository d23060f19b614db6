import type { AttemptOutcome } from './attempt';

/** A request that is ready to go. */
export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Why no complete status line came back. */
export type TransportFailure = Exclude<AttemptOutcome, 'delivered' | `http_${string}`>;

export type SendResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** The response's `Retry-After`, as it came. */
      readonly retryAfter: string | undefined;
      /** The beginning of the response's body. */
      readonly body: string;
    }
  | { readonly kind: 'failed'; readonly reason: TransportFailure; readonly error: string };

/**
 * Sends one request and tells what came back. Never rejects because of the receiver; when `signal` is aborted
 * it settles soon, with whatever it has.
 */
export type Transport = (request: DeliveryRequest, signal: AbortSignal) => Promise<SendResult>;
