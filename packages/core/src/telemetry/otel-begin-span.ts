import { type Context, ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api';
import { RandomIdGenerator, type Sampler, SamplingDecision } from '@opentelemetry/sdk-trace';
import type { BeginSpan, TraceContext } from '../model/trace';

/** Gives spans their ids, and decides which are exported. */
export function createOtelBeginSpan(sampler: Sampler): BeginSpan {
  const ids = new RandomIdGenerator();

  return ({ parent, links = [], startedAt }) => {
    const traceId = parent?.traceId ?? ids.generateTraceId();
    const isSampled = parent || links[0] === undefined ? decide(traceId, parent) : links[0].isSampled;
    return { context: { traceId, spanId: ids.generateSpanId(), isSampled }, parent, links, startedAt };
  };

  // No sampler of those that there are looks at a span's name, kind or attributes.
  function decide(traceId: string, parent: TraceContext | undefined): boolean {
    const { decision } = sampler.shouldSample(contextOf(parent), traceId, '', SpanKind.INTERNAL, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }
}

function contextOf(parent: TraceContext | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, isSampled } = parent;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags });
}
