import { SpanKind } from '@opentelemetry/api';
import { signalSamples } from '../testing/signal-samples';
import { describeSignal } from './otel-signal-spans';

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

it('has no name that strangers make up', () => {
  const described = describeSignal({ ...completed, method: '_OTHER', span: requestSpan }, 'api');
  expect(described?.name).toBe('HTTP /v1/webhooks/:id');
  expect(described?.attributes['http.request.method']).toBe('_OTHER');
});
