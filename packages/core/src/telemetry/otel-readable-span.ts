import {
  type Attributes,
  type HrTime,
  type SpanContext,
  type SpanKind,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { VERSION } from '../kernel/version';
import type { Span, TraceContext } from '../model/trace';

/** A span that is over, with what is to be said of it. */
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
export function toReadableSpan(
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
