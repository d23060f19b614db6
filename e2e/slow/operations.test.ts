import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

interface Operations {
  readonly workers: readonly { readonly id: string; readonly pid: number }[];
  readonly held: number;
  readonly breakers_open: number;
}

interface Page {
  readonly data: readonly Record<string, unknown>[];
}

const EVENTS = 20;

it('shows an operator what fails, why it is held, and which workers there are', async () => {
  const stack = await Stack.start();
  const receiver = await Receiver.start(() => 500);
  const { id } = await stack.client.register(receiver.url);
  const read = async <Body>(path: string) => (await stack.client.request<Body>('GET', path)).body;
  const operations = () => read<Operations>('/v1/operations');

  for (let i = 0; i < EVENTS; i += 1) await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const failing = await until(async () => {
    const current = await operations();
    return current.breakers_open === 1 && current.held > 0 ? current : undefined;
  });
  expect(failing.workers).toHaveLength(1);
  const { data: troubled } = await read<Page>('/v1/operations/webhooks?state=breaker_open');
  expect(troubled).toMatchObject([{ webhook_id: id, reason: 'failures', since: expect.any(String) }]);

  const held = await until(async () => {
    const { data } = await read<Page>('/v1/deliveries?status=held');
    return data.length > 0 ? data : undefined;
  });
  for (const delivery of held) {
    expect(delivery).toMatchObject({ webhook_id: id, status: 'held', hold: { reason: 'breaker_open' } });
  }
  const { data: failed } = await read<Page>('/v1/deliveries?response_status=500&outcome=http_5xx');
  expect(failed.length).toBeGreaterThan(0);

  // What workers count is written a second later.
  const health = await until(async () => {
    const [webhook] = (await read<Page>('/v1/webhooks?include=health')).data;
    const current = webhook?.health as { readonly attempts_24h: number; readonly p95_ms: number | null };
    return current.attempts_24h > 0 ? current : undefined;
  });
  expect(health.p95_ms).toBeGreaterThan(0);

  await stack.workers[0]?.end();
  await until(async () => ((await operations()).workers.length === 0 ? true : undefined));
  await Promise.all([receiver.stop(), stack.stop()]);
});
