import { type Context, ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api';
import { RandomIdGenerator, type Sampler, SamplingDecision } from '@opentelemetry/sdk-trace';
import type { BeginSpan, TraceContext } from '../model/trace';

/** Gives spans their ids, and decides which are exported. */
export function createOtelBeginSpan(sampler: Sampler): BeginSpan {
  const ids = new RandomIdGenerator();

  return ({ parent, links = [], startedAt }) => {
    const traceId = parent?.traceId ?? ids.generateTraceId();
    // A trace that follows from another one is decided on as that one was, or of a hundred events none would have all of its own.
    const before = parent ?? links[0];
    const isSampled = decide(before?.traceId ?? traceId, before);
    return { context: { traceId, spanId: ids.generateSpanId(), isSampled }, parent, links, startedAt };
  };

  // No sampler of those that there are looks at a span's name, kind or attributes.
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
