import { SpanKind } from '@opentelemetry/api';
import type { NewSpan, TraceContext } from '../domain/trace';
import type { SamplerName } from '../platform/settings';
import { signalSamples } from '../testing/signal-samples';
import { createOtelBeginSpan, createOtelSampler, describeSignal } from './otel-tracing';

describe('otel begin span', () => {
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
    expect(span).toMatchObject({
      context: { traceId: parent.traceId, isSampled: true },
      parent,
      startedAt: 5,
    });
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
});

describe('otel signal spans', () => {
  const place = {
    context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true },
    parent: undefined,
    links: [],
    startedAt: 1_700_000_000_000,
  };
  const attempted = signalSamples['delivery.attempted'];
  const completed = signalSamples['request.completed'];
  const requestSpan = { ...place, scheme: 'http', path: '/v1/webhooks/17' };

  it.each(Object.values(signalSamples))('makes no span of $name when it was not traced', (signal) => {
    expect(describeSignal(signal, 'worker')).toBeUndefined();
  });

  it('tells why an attempt without an answer failed', () => {
    const { responseStatus: _status, ...unanswered } = attempted;
    const span = { ...place, url: 'https://hooks.example.com/in' };
    const described = describeSignal({ ...unanswered, outcome: 'dns_error', span }, 'worker');
    expect(described).toMatchObject({
      name: 'POST',
      kind: SpanKind.CLIENT,
      isError: true,
      attributes: {
        'error.type': 'dns_error',
        'server.address': 'hooks.example.com',
        'server.port': 443,
        'url.full': 'https://hooks.example.com/in',
      },
    });
    expect(described?.attributes).not.toHaveProperty('http.response.status_code');
  });

  it.each([
    [422, false],
    [503, true],
  ])('takes an answer of %d for an error of the service: %s', (status, isError) => {
    const described = describeSignal({ ...completed, status, span: requestSpan }, 'api');
    expect(described?.isError).toBe(isError);
    expect(described?.attributes['error.type']).toBe(isError ? String(status) : undefined);
  });

  it('has no name that clients make up', () => {
    const described = describeSignal({ ...completed, method: '_OTHER', span: requestSpan }, 'api');
    expect(described?.name).toBe('HTTP /v1/webhooks/:id');
    expect(described?.attributes['http.request.method']).toBe('_OTHER');
  });
});
