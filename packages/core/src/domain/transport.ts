import type { AttemptOutcome, AttemptTimings } from './attempt';
import type { EndpointId } from './endpoint';

/** What a TLS connection to one endpoint shows and trusts, each as PEM. */
export interface TlsMaterial {
  /** The authorities to trust, instead of the well-known ones. */
  readonly ca?: string | undefined;
  /** The client's own certificate, for receivers that ask for one, and its key. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** A request that is ready to go. */
export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For the whole attempt, instead of the transport's own. */
  readonly timeoutMs?: number;
  readonly tls?: TlsMaterial;
  /** It goes to whoever listens for this endpoint, not to the URL. */
  readonly listener?: EndpointId;
}

/** Why no complete status line came back. */
export type TransportFailure = Exclude<AttemptOutcome, 'delivered' | `http_${string}`>;

export type SendResult =
  | SentResult
  /** Nothing of it has left us, and that is none of the receiver's faults: our proxy is out of order. */
  | { readonly kind: 'unsent'; readonly error: string };

/** What came of a request that is an attempt. */
export type SentResult =
  | {
      readonly kind: 'responded';
      readonly status: number;
      /** The response's `Retry-After`, as it came. */
      readonly retryAfter: string | undefined;
      /** The response's `webhook-delivery`, as it came: what the receiver wishes to become of the delivery. */
      readonly wish: string | undefined;
      /** Those of the response's headers that are kept on record. */
      readonly headers?: Readonly<Record<string, string>>;
      /** The beginning of the response's body. */
      readonly body: string;
      readonly timings: AttemptTimings;
    }
  | {
      readonly kind: 'failed';
      readonly reason: TransportFailure;
      readonly error: string;
      readonly timings: AttemptTimings;
    };

/**
 * Sends one request and tells what came back. Never rejects because of the receiver. When `abortSignal` is
 * aborted it settles soon, with whatever it has.
 */
export type Transport = (request: DeliveryRequest, abortSignal: AbortSignal) => Promise<SendResult>;
