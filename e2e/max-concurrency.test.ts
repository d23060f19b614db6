import { Receiver } from './support/receiver';
import { QUICK_WIN } from './support/samples';
import { Stack } from './support/stack';
import { until } from './support/until';

interface WebhookView {
  readonly id: string;
  readonly max_concurrency?: number;
  readonly health: {
    readonly concurrency: {
      readonly limit: number;
      readonly workers: number;
      readonly reason: string;
    } | null;
  };
}

let stack: Stack;
let receiver: Receiver;
beforeEach(async () => {
  stack = await Stack.start();
});
afterEach(async () => {
  await stack.stop();
  await receiver.stop();
});

async function register(max_concurrency: number): Promise<string> {
  const webhook = { url: receiver.url, events: ['*'], max_concurrency };
  return (await stack.client.expect<WebhookView>(201, 'POST', '/v1/webhooks', webhook)).body.id;
}

async function read(id: string): Promise<WebhookView> {
  return (await stack.client.expect<WebhookView>(200, 'GET', `/v1/webhooks/${id}`)).body;
}

async function change(id: string, patch: object): Promise<void> {
  await stack.client.expect(200, 'PATCH', `/v1/webhooks/${id}`, patch);
}

async function publish(count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, () => stack.client.publish(QUICK_WIN.type, QUICK_WIN.data)),
  );
}

it('shows the bound that a webhook has set for itself, and which limit holds, until it takes the bound away', async () => {
  receiver = await Receiver.start();
  const id = await register(2);
  expect(await read(id)).toMatchObject({ max_concurrency: 2, health: { concurrency: null } });

  await publish(20);
  await receiver.waitFor(20);
  const { health } = await until(async () => {
    const webhook = await read(id);
    return webhook.health.concurrency ? webhook : undefined;
  });
  expect(health.concurrency).toEqual({ limit: 2, workers: 1, reason: 'max_concurrency' });

  await change(id, { description: 'mine' });
  expect(await read(id)).toMatchObject({ max_concurrency: 2 });
  await change(id, { max_concurrency: null });
  expect(await read(id)).not.toHaveProperty('max_concurrency');

  await publish(20);
  await receiver.waitFor(40);
  const limit = await until(async () => {
    const { concurrency } = (await read(id)).health;
    return concurrency && concurrency.limit > 2 ? concurrency : undefined;
  });
  expect(limit).toMatchObject({ workers: 1, reason: 'adaptive' });
});
