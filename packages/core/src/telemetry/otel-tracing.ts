import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  type HrTime,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
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
import type { Capability } from '../core/capability';
import { DELIVERIES_QUEUE, EVENTS_QUEUE } from '../domain/queues';
import type { Signal, SignalListener, SignalNamed } from '../domain/signal';
import { OTHER_METHOD } from '../domain/signals/requests';
import type { AttemptSpan, BeginSpan, RequestSpan, Span, TraceContext } from '../domain/trace';
import type { SamplerName, TracingConfig } from '../platform/settings';
import { settledWithin } from '../platform/timers';
import { VERSION } from '../platform/version';

// A few megabytes at most; further spans are lost while the collector is away.
const QUEUED_SPANS = 2_048;
const BATCH_SPANS = 512;
const BATCH_DELAY_MS = 1_000;
// Within the time that a process has to stop after its parts.
const STOP_PATIENCE_MS = 2_000;

/** Which process is traced. */
export type TracedService = 'api' | 'worker';

/** Makes spans of signals. When it closes, it sends the remaining ones, as far as possible within two seconds. */
export interface Tracing extends Capability {
  readonly beginSpan: BeginSpan;
}

export interface TracingOptions {
  readonly service: TracedService;
  /** Called when spans were lost, with the reason. */
  readonly onWarning: SignalListener;
}

type OtelConfig = TracingConfig & { readonly endpoint: string };

/**
 * Send spans to a collector, in batches. When it does not accept them, they are lost, and nothing else is
 * affected.
 */
export function openOtelTracing(config: OtelConfig, { service, onWarning }: TracingOptions): Tracing {
  warnBy(onWarning);
  const resource = resourceOf(config, service);
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({
      url: `${config.endpoint.replace(/\/$/, '')}/v1/traces`,
      headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    }),
    maxQueueSize: QUEUED_SPANS,
    maxExportBatchSize: BATCH_SPANS,
    scheduledDelayMillis: BATCH_DELAY_MS,
  });
  const sampler = createOtelSampler(config.OTEL_TRACES_SAMPLER, config.OTEL_TRACES_SAMPLER_ARG);
  return {
    name: 'tracing',
    beginSpan: createOtelBeginSpan(sampler),
    listen(signal) {
      const described = describeSignal(signal, service);
      if (described?.span.context.isSampled) processor.onEnd(toReadableSpan(described, resource));
    },
    async close() {
      await settledWithin(STOP_PATIENCE_MS, processor.shutdown());
    },
  };
}

function resourceOf(config: OtelConfig, service: TracedService): Resource {
  return defaultResource().merge(
    resourceFromAttributes({
      [ATTR_SERVICE_NAME]: `hookferry-${service}`,
      [ATTR_SERVICE_VERSION]: VERSION,
      ...config.OTEL_RESOURCE_ATTRIBUTES,
      ...(config.OTEL_SERVICE_NAME === undefined ? {} : { [ATTR_SERVICE_NAME]: config.OTEL_SERVICE_NAME }),
    }),
  );
}

// Its exporter and its queue report failures only here.
function warnBy(onWarning: SignalListener): void {
  const warn = (message: string) => onWarning({ name: 'library.warned', text: `OpenTelemetry: ${message}` });
  const silent = () => {};
  const logger = { error: warn, warn, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** Give spans their ids, and decide which are exported. */
export function createOtelBeginSpan(sampler: Sampler): BeginSpan {
  const ids = new RandomIdGenerator();

  return ({ parent, links = [], startedAt }) => {
    const traceId = parent?.traceId ?? ids.generateTraceId();
    // A trace that follows from another one is sampled as that one was: otherwise hardly any event would have
    // all of its traces.
    const before = parent ?? links[0];
    const isSampled = decide(before?.traceId ?? traceId, before);
    return { context: { traceId, spanId: ids.generateSpanId(), isSampled }, parent, links, startedAt };
  };

  // No available sampler reads a span's name, kind or attributes.
  function decide(traceId: string, before: TraceContext | undefined): boolean {
    const { decision } = sampler.shouldSample(contextOf(before), traceId, '', SpanKind.INTERNAL, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }
}

function contextOf(place: TraceContext | undefined): Context {
  if (place === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, isSampled } = place;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags });
}

/** A finished span, with its description. */
export interface SpanDescription {
  readonly span: Span;
  readonly durationMs: number;
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly isError: boolean;
}

const SCOPE = { name: 'hookferry', version: VERSION };

/** The span as OpenTelemetry exports it. */
function toReadableSpan(
  { span, durationMs, name, kind, attributes, isError }: SpanDescription,
  resource: Resource,
): ReadableSpan {
  const { context, parent, links, startedAt } = span;
  const spanContext = toSpanContext(context);
  return {
    name,
    kind,
    spanContext: () => spanContext,
    ...(parent === undefined ? {} : { parentSpanContext: toSpanContext(parent) }),
    startTime: toHrTime(startedAt),
    endTime: toHrTime(startedAt + durationMs),
    duration: toHrTime(durationMs),
    ended: true,
    status: { code: isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes,
    links: links.map((link) => ({ context: toSpanContext(link) })),
    events: [],
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function toSpanContext({ traceId, spanId, isSampled }: TraceContext): SpanContext {
  return { traceId, spanId, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE };
}

/** Seconds, and nanoseconds beside them. */
function toHrTime(timeMs: number): HrTime {
  const seconds = Math.floor(timeMs / 1_000);
  return [seconds, Math.round((timeMs - seconds * 1_000) * 1_000_000)];
}

/** The sampler that `OTEL_TRACES_SAMPLER` names. @param ratio from 0 to 1. */
export function createOtelSampler(name: SamplerName, ratio: number): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}

/**
 * The finished span of a signal, by OpenTelemetry's semantic conventions; `undefined` for a signal without
 * one.
 */
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

function describeRequest(signal: SignalNamed<'request.completed'>, span: RequestSpan): SpanDescription {
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

function describeQueued(signal: SignalNamed<'event.queued'>, span: Span): SpanDescription {
  return {
    span,
    durationMs: signal.durationMs,
    name: `send ${EVENTS_QUEUE}`,
    kind: SpanKind.PRODUCER,
    attributes: { ...operationOn(EVENTS_QUEUE, 'send'), ...attributesOfEvent(signal) },
    isError: false,
  };
}

// The API does it while it handles a request, a worker when it takes the event off its queue.
function describeFanOut(
  signal: SignalNamed<'event.fanned_out'>,
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

function describeAttempt(signal: SignalNamed<'delivery.attempted'>, span: AttemptSpan): SpanDescription {
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
}: SignalNamed<'event.queued' | 'event.fanned_out'>): Attributes {
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
