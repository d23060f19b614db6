import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

interface Listed {
  readonly data: readonly { readonly id: string; readonly status: string; readonly webhook_id: string }[];
}

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({ environment: { RETRY_SCHEDULE: '100ms' } });
});
afterAll(() => stack.stop());

it('tells what happened to an event: where it went, what arrived, and each attempt', async () => {
  const receivers = [
    await Receiver.start(() => 204),
    await Receiver.start((_request, count) => (count < 2 ? 503 : 204)),
    await Receiver.start(() => 400),
  ];
  for (const { url } of receivers) await stack.client.register(url);
  const id = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);

  // Only then is it sure that it was fanned out.
  await receivers[0]?.waitFor(1);
  const get = async <Body>(path: string) => (await stack.client.expect<Body>(200, 'GET', path)).body;
  const counts = await until(async () => {
    const { deliveries } = await get<{ deliveries: Record<string, number> }>(`/v1/events/${id}`);
    return deliveries.pending === 0 && deliveries.total === 3 ? deliveries : undefined;
  });
  expect(counts).toMatchObject({ delivered: 2, exhausted: 1 });

  const failed = await get<Listed>(`/v1/events/${id}/deliveries?status=exhausted&status_class=4xx`);
  expect(failed.data).toHaveLength(1);
  const { attempts } = await get<{ attempts: object[] }>(`/v1/deliveries/${failed.data[0]?.id}`);
  const attempt = {
    trigger: 'schedule',
    worker: expect.stringMatching(/^[0-9a-f]{6}$/),
    response_status: 400,
  };
  expect(attempts).toMatchObject([attempt, attempt]);
  for (const receiver of receivers) await receiver.stop();
});
