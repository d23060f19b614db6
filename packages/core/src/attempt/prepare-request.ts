import type { Endpoint } from '../model/endpoint';
import { liveSecrets, newestSecret } from '../model/endpoint-secrets';
import type { AcceptedEvent } from '../model/event';
import { formatTraceparent, type TraceContext } from '../model/trace';
import { signBody, signMessage } from './sign';
import type { DeliveryRequest } from './transport';

export interface SignatureHeader {
  /** The name of the header that carries the plain signature of the body. */
  readonly name: string;
  /** What stands before the signature's hex digits. */
  readonly prefix: string;
}

export interface RequestStyle {
  readonly userAgent: string;
  readonly signatureHeader: SignatureHeader;
  /** Whether receivers are told the attempt's place in a trace. By default not. */
  readonly tellsTrace?: boolean;
}

export interface RequestInput {
  readonly event: AcceptedEvent;
  readonly endpoint: Endpoint;
  /** 1, 2, … */
  readonly attempt: number;
  /** Whether somebody is trying the endpoint out: the event says nothing of what has happened. */
  readonly isTest: boolean;
  /** The attempt's place in a trace, if it has one. */
  readonly trace?: TraceContext | undefined;
  /** The present, in milliseconds since the Unix epoch. */
  readonly now: number;
}

/** The signed request of one attempt. Signed anew each time, since the time is part of what is signed. */
export function prepareRequest(
  { event, endpoint, attempt, isTest, trace, now }: RequestInput,
  style: RequestStyle,
): DeliveryRequest {
  const timestamp = Math.floor(now / 1_000);
  const secrets = liveSecrets(endpoint, now).map(({ secret }) => secret);
  // For the header that has room for a single signature.
  const { secret: newest } = newestSecret(endpoint);
  return {
    url: endpoint.url,
    body: event.body,
    // Ours come last: what an endpoint brings along can add to them, never replace them.
    headers: {
      ...endpoint.headers,
      'content-type': 'application/json',
      'user-agent': style.userAgent,
      [style.signatureHeader.name.toLowerCase()]: signBody(newest, event.body, style.signatureHeader.prefix),
      'webhook-id': event.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signMessage(secrets, { id: event.id, timestamp, body: event.body }),
      'x-service-attempt': String(attempt),
      ...(isTest ? { 'x-service-test': 'true' } : {}),
      ...(style.tellsTrace && trace ? { traceparent: formatTraceparent(trace) } : {}),
    },
    ...(endpoint.timeoutMs === undefined ? {} : { timeoutMs: endpoint.timeoutMs }),
    ...(endpoint.tls === undefined ? {} : { tls: endpoint.tls }),
    ...(endpoint.listener === undefined ? {} : { listener: endpoint.id }),
  };
}
