import type { AttemptTimings, TransportFailure } from './attempt';
import type { EndpointId } from './endpoint';

/** The TLS material of a connection to one endpoint, each as PEM. */
export interface TlsMaterial {
  /** The authorities to trust, instead of the well-known ones. */
  readonly ca?: string | undefined;
  /** The client's own certificate, for receivers that ask for one, and its key. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/**
 * The headers of ours that a delivery may carry, beside that of the body's signature, whose name operators
 * choose, those that its endpoint was given, and those of HTTP itself. The compiler refuses any other one.
 */
export const DELIVERY_HEADERS = [
  'content-type',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'webhook-key-id',
  'x-service-attempt',
  'x-service-test',
  'traceparent',
  // Of a CloudEvent whose attributes are headers.
  'ce-specversion',
  'ce-id',
  'ce-source',
  'ce-type',
  'ce-time',
  'ce-subject',
  'ce-dataschema',
  'ce-partitionkey',
  'authorization',
] as const;
export type DeliveryHeaders = Partial<Record<(typeof DELIVERY_HEADERS)[number], string>>;

/** The content of a delivery, in the format of its endpoint. */
export interface DeliveryContent {
  readonly body: string;
  /** Those that describe the body. */
  readonly headers: Readonly<DeliveryHeaders>;
}

/** A request that is ready to go. */
export interface DeliveryRequest {
  readonly url: string;
  /** Absent: `POST`. */
  readonly method?: 'OPTIONS';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** For the whole attempt, instead of the transport's own. */
  readonly timeoutMs?: number;
  readonly tls?: TlsMaterial;
  /** How much of the response is read and given, instead of the transport's own. */
  readonly responseBytes?: number;
  /** It goes to the connected client of this listener, not to the URL. */
  readonly listener?: EndpointId;
  /** Whether it is never sent a second time, however its connection ended. */
  readonly isSentOnce?: boolean;
  /**
   * Whether it may begin, asked when its new connection is there, before its first byte goes. If not, the result is `unsent`.
   * Absent: it may.
   *
   * @param hasWaited whether it waited for something for a time that this process' clocks need not have counted.
   */
  readonly mayBegin?: (hasWaited: boolean) => boolean | Promise<boolean>;
}

export type SendResult =
  | SentResult
  /**
   * The request was not sent, through no fault of the receiver: the deployment's proxy is out of order, or it might not begin
   * any more.
   */
  | { readonly kind: 'unsent'; readonly error: string };

/** What a response says of who may send, and how often, as it came. */
export interface Permission {
  /** `WebHook-Allowed-Origin`. */
  readonly origin: string | undefined;
  /** `WebHook-Allowed-Rate`. */
  readonly rate: string | undefined;
}

/** The result of a request that is an attempt. */
export type SentResult =
  | {
      readonly kind: 'responded';
      readonly status: number;
      /** The response's `Retry-After`, unparsed. */
      readonly retryAfter: string | undefined;
      /** The response's `webhook-delivery`, as it came: the receiver's wish about further deliveries. */
      readonly wish: string | undefined;
      /** What the receiver permits, of a request with `OPTIONS`. */
      readonly permission?: Permission | undefined;
      /** The recorded part of the response's headers. */
      readonly headers?: Readonly<Record<string, string>>;
      /** The beginning of the response's body. */
      readonly body: string;
      readonly timings: AttemptTimings;
      readonly remoteAddress?: string | undefined;
    }
  | {
      readonly kind: 'failed';
      readonly reason: TransportFailure;
      readonly error: string;
      readonly timings: AttemptTimings;
      readonly remoteAddress?: string | undefined;
    };

/**
 * Send one request and give the result. Never rejects because of the receiver. When `abortSignal` is aborted
 * it settles soon, with its present result.
 */
export type Transport = (request: DeliveryRequest, abortSignal: AbortSignal) => Promise<SendResult>;
