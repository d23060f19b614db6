import { type CollectedSpan, OtlpCollector } from '../support/otlp-collector';
import { publishFromProcess } from '../support/publish-from-process';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE_ID}-${CALLER_SPAN}-01`;
// More than the API fans out itself.
const MANY = 33;

let collector: OtlpCollector;
let receiver: Receiver;
let stack: Stack;

beforeAll(async () => {
  collector = await OtlpCollector.start();
  stack = await Stack.start({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=secret%20key',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      RETRY_SCHEDULE: '100ms,100ms',
    },
  });
});
afterAll(async () => {
  await stack.stop();
  await collector.stop();
});

beforeEach(async () => {
  receiver = await Receiver.start((_request, count) => (count === 1 ? 500 : 204));
});
afterEach(() => receiver.stop());

const isOf = (traceId: string) => (span: CollectedSpan) => span.traceId === traceId;
const named = (spans: readonly CollectedSpan[], name: string) => spans.filter((span) => span.name === name);
const publish = async (traceparent: string) => {
  const { body } = await stack.client.expect<{ id: string }>(202, 'POST', '/v1/events', QUICK_WIN, {
    traceparent,
  });
  return body.id;
};

it('makes one trace of a request, the queue and the attempts, each linked to the one before', async () => {
  const url = new URL(receiver.url);
  url.searchParams.set('token', 'hidden-in-the-query');
  const webhook = await stack.client.register(url.href);
  const eventId = await publish(TRACEPARENT);

  const spans = await collector.waitFor(4, isOf(TRACE_ID));
  const [request] = named(spans, 'POST /v1/events');
  const [sent] = named(spans, 'send deliveries');
  const [first, second] = named(spans, 'POST');
  expect(request).toMatchObject({
    kind: 'SERVER',
    service: 'hookferry-api',
    parentSpanId: CALLER_SPAN,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/events',
      'http.response.status_code': 202,
      'url.path': '/v1/events',
      'url.scheme': 'http',
    },
  });
  expect(sent).toMatchObject({
    kind: 'PRODUCER',
    parentSpanId: request?.spanId,
    attributes: { 'messaging.system': 'bullmq', 'messaging.destination.name': 'deliveries' },
  });
  expect(first).toMatchObject({
    kind: 'CLIENT',
    service: 'hookferry-worker',
    parentSpanId: sent?.spanId,
    links: [],
    status: { code: 2 },
    attributes: {
      'url.full': receiver.url,
      'http.response.status_code': 500,
      'error.type': '500',
      'hookferry.event.id': eventId,
      'hookferry.outcome': 'http_5xx',
    },
  });
  expect(second).toMatchObject({
    parentSpanId: sent?.spanId,
    links: [{ traceId: TRACE_ID, spanId: first?.spanId }],
    status: { code: 0 },
    attributes: { 'http.response.status_code': 204, 'http.request.resend_count': 1 },
  });
  expect(JSON.stringify(collector.spans)).not.toContain('hidden-in-the-query');
  expect(collector.headers[0]).toMatchObject({ 'x-key': 'secret key' });
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
});

it('writes the trace into the log of both processes', async () => {
  const worker = stack.workers[0];
  const isOfTrace = (message: string) => (line: Readonly<Record<string, unknown>>) =>
    line.message === message && line.trace_id === TRACE_ID;
  const lines = await Promise.all([
    stack.api.waitForLine(isOfTrace('request.completed')),
    stack.api.waitForLine(isOfTrace('event.accepted')),
    worker?.waitForLine(isOfTrace('delivery.attempted')),
    worker?.waitForLine(isOfTrace('delivery.ended')),
  ]);
  expect(lines.map((line) => typeof line?.span_id)).toEqual(['string', 'undefined', 'string', 'undefined']);
});

it('tells receivers nothing of it', async () => {
  const webhook = await stack.client.register(receiver.url);
  await publish(TRACEPARENT);
  const requests = await receiver.waitFor(2);
  expect(requests.map(({ headers }) => headers.traceparent)).toEqual([undefined, undefined]);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
});

it('keeps the trace on the way over the queue of events, to many receivers', async () => {
  const many = Array.from({ length: MANY }, () => stack.client.register(receiver.url));
  const webhooks = await Promise.all(many);
  const traceId = 'a'.repeat(32);
  await publish(`00-${traceId}-${CALLER_SPAN}-01`);

  const spans = await collector.waitFor(MANY + 4, isOf(traceId));
  const [request] = named(spans, 'POST /v1/events');
  const [sent] = named(spans, 'send events');
  const [processed] = named(spans, 'process events');
  expect(sent).toMatchObject({ kind: 'PRODUCER', parentSpanId: request?.spanId });
  expect(processed).toMatchObject({
    kind: 'CONSUMER',
    service: 'hookferry-worker',
    parentSpanId: sent?.spanId,
    attributes: { 'hookferry.deliveries': MANY },
  });
  const attempts = named(spans, 'POST');
  expect(attempts).toHaveLength(MANY + 1);
  expect(new Set(attempts.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([processed?.spanId]));
  await Promise.all(webhooks.map(({ id }) => stack.client.expect(204, 'DELETE', `/v1/webhooks/${id}`)));
});

it("goes on with a producer's trace", async () => {
  const webhook = await stack.client.register(receiver.url);
  const traceId = 'b'.repeat(32);
  const traceparent = `00-${traceId}-${CALLER_SPAN}-01`;
  await publishFromProcess(stack.redis.url, QUICK_WIN, { traceparent });

  const spans = await collector.waitFor(3, isOf(traceId));
  const [processed] = named(spans, 'process events');
  expect(processed).toMatchObject({ kind: 'CONSUMER', parentSpanId: CALLER_SPAN });
  const [first, second] = named(spans, 'POST');
  expect(first).toMatchObject({ parentSpanId: processed?.spanId });
  expect(second).toMatchObject({ links: [{ traceId, spanId: first?.spanId }] });
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
});

it.each(['00-nonsense', `00-${'0'.repeat(32)}-${CALLER_SPAN}-01`])(
  'begins a trace of its own for a caller with the traceparent %s',
  async (traceparent) => {
    const webhook = await stack.client.register(receiver.url);
    const eventId = await publish(traceparent);
    const [first] = await collector.waitFor(2, ({ attributes, name }) => {
      return name === 'POST' && attributes['hookferry.event.id'] === eventId;
    });
    const trace = await collector.waitFor(4, isOf(first?.traceId ?? ''));
    expect(named(trace, 'POST /v1/events')[0]?.parentSpanId).toBeUndefined();
    await stack.client.expect(204, 'DELETE', `/v1/webhooks/${webhook.id}`);
  },
);
