import type { SamplerName } from '../kernel/tracing-settings';
import type { NewSpan, TraceContext } from '../model/trace';
import { createOtelBeginSpan } from './otel-begin-span';
import { createOtelSampler } from './otel-sampler';

const placeOf = (isSampled: boolean): TraceContext => ({
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  isSampled,
});

const begin = (sampler: SamplerName, ratio: number, span: Omit<NewSpan, 'startedAt'>) =>
  createOtelBeginSpan(createOtelSampler(sampler, ratio))({ ...span, startedAt: 5 });

it('puts a span below its parent, in the same trace', () => {
  const parent = placeOf(true);
  const span = begin('parentbased_always_on', 1, { parent });
  expect(span).toMatchObject({ context: { traceId: parent.traceId, isSampled: true }, parent, startedAt: 5 });
  expect(span.context.spanId).toMatch(/^[0-9a-f]{16}$/);
  expect(span.context.spanId).not.toBe(parent.spanId);
});

it.each([
  ['always_on', 1, undefined, true],
  ['always_on', 1, false, true],
  ['always_off', 1, true, false],
  ['traceidratio', 1, false, true],
  ['traceidratio', 0, true, false],
  ['parentbased_always_on', 1, undefined, true],
  ['parentbased_always_on', 1, false, false],
  ['parentbased_always_off', 1, undefined, false],
  ['parentbased_always_off', 1, true, true],
  ['parentbased_traceidratio', 0, undefined, false],
  ['parentbased_traceidratio', 0, true, true],
] as const)('%s with %d, below a caller who samples: %s, samples: %s', (name, ratio, parent, isSampled) => {
  const span = begin(name, ratio, parent === undefined ? {} : { parent: placeOf(parent) });
  expect(span.context.isSampled).toBe(isSampled);
});

it.each([true, false])('samples a trace that is linked to another as that one is: %s', (isSampled) => {
  const link = placeOf(isSampled);
  const { context } = begin('parentbased_traceidratio', 0.5, { links: [link] });
  expect(context.isSampled).toBe(isSampled);
  expect(context.traceId).not.toBe(link.traceId);
});

it('samples nothing where nothing is to be, whatever it is linked to', () => {
  expect(begin('always_off', 1, { links: [placeOf(true)] }).context.isSampled).toBe(false);
});
