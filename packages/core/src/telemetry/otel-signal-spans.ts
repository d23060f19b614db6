import { type Attributes, SpanKind } from '@opentelemetry/api';
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  ATTR_URL_FULL,
  ATTR_URL_PATH,
  ATTR_URL_SCHEME,
} from '@opentelemetry/semantic-conventions';
import {
  ATTR_HTTP_REQUEST_RESEND_COUNT,
  ATTR_MESSAGING_BATCH_MESSAGE_COUNT,
  ATTR_MESSAGING_DESTINATION_NAME,
  ATTR_MESSAGING_MESSAGE_ID,
  ATTR_MESSAGING_OPERATION_NAME,
  ATTR_MESSAGING_OPERATION_TYPE,
  ATTR_MESSAGING_SYSTEM,
} from '@opentelemetry/semantic-conventions/incubating';
import { OTHER_METHOD } from '../model/http-method';
import { DELIVERIES_QUEUE, EVENTS_QUEUE } from '../model/queue-names';
import type { Signal } from '../model/signal';
import type { AttemptSpan, RequestSpan, Span } from '../model/trace';
import type { SpanDescription } from './otel-readable-span';
import type { TracedService } from './start-tracing';

type Named<Name extends Signal['name']> = Extract<Signal, { readonly name: Name }>;

/** What a signal tells of a span that is over, by OpenTelemetry's semantic conventions; `undefined` if it is of none. */
export function describeSignal(signal: Signal, service: TracedService): SpanDescription | undefined {
  if (!('span' in signal)) return undefined;
  switch (signal.name) {
    case 'request.completed':
      return signal.span && describeRequest(signal, signal.span);
    case 'event.queued':
      return signal.span && describeQueued(signal, signal.span);
    case 'event.fanned_out':
      return signal.span && describeFanOut(signal, signal.span, service);
    case 'delivery.attempted':
      return signal.span && describeAttempt(signal, signal.span);
  }
}

function describeRequest(signal: Named<'request.completed'>, span: RequestSpan): SpanDescription {
  const { method, route, status, durationMs, requestId, accountId } = signal;
  return {
    span,
    durationMs,
    name: `${method === OTHER_METHOD ? 'HTTP' : method} ${route}`,
    kind: SpanKind.SERVER,
    attributes: {
      [ATTR_HTTP_REQUEST_METHOD]: method,
      [ATTR_HTTP_ROUTE]: route,
      [ATTR_HTTP_RESPONSE_STATUS_CODE]: status,
      [ATTR_URL_PATH]: span.path,
      [ATTR_URL_SCHEME]: span.scheme,
      'hookferry.request.id': requestId,
      ...(accountId === undefined ? {} : { 'hookferry.account.id': accountId }),
      ...(status >= 500 ? { [ATTR_ERROR_TYPE]: String(status) } : {}),
    },
    isError: status >= 500,
  };
}

function describeQueued(signal: Named<'event.queued'>, span: Span): SpanDescription {
  return {
    span,
    durationMs: signal.durationMs,
    name: `send ${EVENTS_QUEUE}`,
    kind: SpanKind.PRODUCER,
    attributes: { ...operationOn(EVENTS_QUEUE, 'send'), ...attributesOfEvent(signal) },
    isError: false,
  };
}

// The API does it while it answers a request, a worker when it takes the event off its queue.
function describeFanOut(
  signal: Named<'event.fanned_out'>,
  span: Span,
  service: TracedService,
): SpanDescription {
  const isSent = service === 'api';
  const queue = isSent ? DELIVERIES_QUEUE : EVENTS_QUEUE;
  const operation = isSent ? 'send' : 'process';
  return {
    span,
    durationMs: signal.durationMs,
    name: `${operation} ${queue}`,
    kind: isSent ? SpanKind.PRODUCER : SpanKind.CONSUMER,
    attributes: {
      ...operationOn(queue, operation),
      ...(isSent ? { [ATTR_MESSAGING_BATCH_MESSAGE_COUNT]: signal.deliveries } : {}),
      ...attributesOfEvent(signal),
      'hookferry.deliveries': signal.deliveries,
    },
    isError: false,
  };
}

function describeAttempt(signal: Named<'delivery.attempted'>, span: AttemptSpan): SpanDescription {
  const { attempt, outcome, responseStatus, durationMs, type, eventId, deliveryId, endpointId } = signal;
  const isError = outcome !== 'delivered';
  return {
    span,
    durationMs,
    name: 'POST',
    kind: SpanKind.CLIENT,
    attributes: {
      [ATTR_HTTP_REQUEST_METHOD]: 'POST',
      ...attributesOfUrl(span.url),
      ...(responseStatus === undefined ? {} : { [ATTR_HTTP_RESPONSE_STATUS_CODE]: responseStatus }),
      ...(attempt > 1 ? { [ATTR_HTTP_REQUEST_RESEND_COUNT]: attempt - 1 } : {}),
      ...(isError
        ? { [ATTR_ERROR_TYPE]: responseStatus === undefined ? outcome : String(responseStatus) }
        : {}),
      'hookferry.event.id': eventId,
      'hookferry.event.type': type,
      'hookferry.delivery.id': deliveryId,
      'hookferry.webhook.id': endpointId,
      'hookferry.attempt': attempt,
      'hookferry.outcome': outcome,
    },
    isError,
  };
}

function operationOn(queue: string, operation: 'send' | 'process'): Attributes {
  return {
    [ATTR_MESSAGING_SYSTEM]: 'bullmq',
    [ATTR_MESSAGING_DESTINATION_NAME]: queue,
    [ATTR_MESSAGING_OPERATION_NAME]: operation,
    [ATTR_MESSAGING_OPERATION_TYPE]: operation,
  };
}

function attributesOfEvent({
  eventId,
  type,
  accountId,
}: Named<'event.queued' | 'event.fanned_out'>): Attributes {
  return {
    [ATTR_MESSAGING_MESSAGE_ID]: eventId,
    'hookferry.event.id': eventId,
    'hookferry.event.type': type,
    'hookferry.account.id': accountId,
  };
}

function attributesOfUrl(url: string): Attributes {
  const { hostname, port, protocol } = new URL(url);
  return {
    [ATTR_URL_FULL]: url,
    [ATTR_SERVER_ADDRESS]: hostname,
    [ATTR_SERVER_PORT]: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
  };
}
