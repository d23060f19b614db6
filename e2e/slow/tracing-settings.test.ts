import { join } from 'node:path';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import type { LogLine, ManagedProcess } from '../support/managed-process';
import { OtlpCollector } from '../support/otlp-collector';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const EVENTS = 20;

let receiver: Receiver;
let collector: OtlpCollector;
beforeEach(async () => {
  receiver = await Receiver.start();
  collector = await OtlpCollector.start();
});
afterEach(async () => {
  await receiver.stop();
  await collector.stop();
});

const publishTraced = (stack: Stack, flags: string) =>
  stack.client.expect(202, 'POST', '/v1/events', QUICK_WIN, {
    traceparent: `00-${TRACE_ID}-b7ad6b7169203331-${flags}`,
  });

async function packagesOf(part: ManagedProcess | undefined): Promise<readonly string[]> {
  part?.sendSignal('SIGUSR2');
  const line = await part?.waitForLine(({ message }) => message === 'loaded');
  return (line?.packages ?? []) as readonly string[];
}

it.each([
  ['has none of OpenTelemetry in memory unless traces are wanted', {}, false],
  ['has it when they are', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, true],
])('%s', async (_what, settings: Readonly<Record<string, string>>, isWanted) => {
  const preload = `--require ${join(__dirname, '..', 'support', 'list-loaded.cjs')}`;
  const stack = await Stack.start({ environment: { NODE_OPTIONS: preload, ...settings } });
  await stack.client.register(receiver.url);
  await publishTraced(stack, '01');
  const [request] = await receiver.waitFor(1);
  expect(request?.headers).not.toHaveProperty('traceparent');
  for (const part of [stack.api, stack.workers[0]]) {
    const packages = await packagesOf(part);
    expect(packages).toContain('bullmq');
    // Its interfaces alone are there anyhow: prom-client loads them.
    const loaded = packages.filter((name) => /^@opentelemetry\/(?!api$)/.test(name));
    expect(loaded.length > 0).toBe(isWanted);
  }
  await stack.stop();
});

it('tells receivers the place of each attempt when it is asked to, and signs as ever', async () => {
  const stack = await Stack.start({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_SERVICE_NAME: 'webhooks',
      TRACEPARENT_TO_RECEIVERS: 'true',
    },
  });
  await stack.client.register(receiver.url);
  await publishTraced(stack, '01');
  const [request] = await receiver.waitFor(1);
  await stack.stop();

  const attempt = collector.spans.find(({ kind }) => kind === 'CLIENT');
  expect(attempt).toMatchObject({ traceId: TRACE_ID, service: 'webhooks' });
  expect(request?.headers.traceparent).toBe(`00-${TRACE_ID}-${attempt?.spanId}-01`);
});

it.each([
  ['the sampler drops', { OTEL_TRACES_SAMPLER: 'always_off' }, '01'],
  ['the caller does not sample', {}, '00'],
])('sends nothing of what %s, and says so to receivers', async (_what, settings, flags) => {
  const stack = await Stack.start({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      TRACEPARENT_TO_RECEIVERS: 'true',
      ...settings,
    },
  });
  const webhook = await stack.client.request<{ id: string }>(
    'POST',
    '/v1/webhooks',
    { url: receiver.url, events: ['*'] },
    { traceparent: `00-${TRACE_ID}-b7ad6b7169203331-${flags}` },
  );
  expect(webhook.status).toBe(201);
  await publishTraced(stack, flags);
  const [request] = await receiver.waitFor(1);
  await stack.stop();

  expect(collector.spans).toEqual([]);
  expect(request?.headers.traceparent).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-00$`));
});

describe.each([
  ['never responds', async () => await OtlpCollector.start({ isDead: true })],
  ['is not there', async () => ({ url: `http://127.0.0.1:${await findClosedPort()}`, stop: async () => {} })],
])('when the collector %s', (_what, startDead) => {
  it('delivers everything, says so, and stops in time', async () => {
    const dead = await startDead();
    const stack = await Stack.start({
      environment: { OTEL_EXPORTER_OTLP_ENDPOINT: dead.url, OTEL_EXPORTER_OTLP_TIMEOUT: '500' },
    });
    const webhook = await stack.client.register(receiver.url);
    await Promise.all(Array.from({ length: EVENTS }, () => publishTraced(stack, '01')));
    await receiver.waitFor(EVENTS);
    const [worker] = stack.workers;
    await worker?.waitForLine(isExportWarning);
    const deliveries = await stack.client.listDeliveries(webhook.id);
    expect(deliveries.map(({ status, attempt_count }) => `${status} ${attempt_count}`)).toEqual(
      Array.from({ length: EVENTS }, () => 'delivered 1'),
    );
    expect(await Promise.all([stack.api, ...stack.workers].map((part) => part.end()))).toEqual([0, 0]);
    expect(worker?.log.filter(({ level }) => level === 'error')).toEqual([]);
    await stack.stop();
    await dead.stop();
  });
});

function isExportWarning({ message, text }: LogLine): boolean {
  return message === 'library.warned' && String(text).startsWith('OpenTelemetry: ');
}
