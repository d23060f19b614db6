import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

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
let responses: HeldResponses;
let receiver: Receiver;
let bystander: Receiver;
beforeEach(async () => {
  stack = await Stack.start();
  responses = new HeldResponses();
  receiver = await Receiver.start(() => responses.next());
  bystander = await Receiver.start();
});
afterEach(async () => {
  responses.flow();
  await stack.stop();
  await Promise.all([receiver.stop(), bystander.stop()]);
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
  expect(await read(id)).toMatchObject({ max_concurrency: null });

  await publish(20);
  await receiver.waitFor(40);
  const limit = await until(async () => {
    const { concurrency } = (await read(id)).health;
    return concurrency && concurrency.limit > 2 ? concurrency : undefined;
  });
  expect(limit).toMatchObject({ workers: 1, reason: 'adaptive' });
});

it('has no more attempts under way at a receiver than its webhook lets it, and all once the bound is gone', async () => {
  await stack.client.register(bystander.url);
  const id = await register(2);

  // By now it would have grown beyond its bound.
  await publish(20);
  await receiver.waitFor(20);
  responses.hold();
  await publish(20);
  await bystander.waitFor(40);
  await until(async () => (responses.underWay >= 2 ? true : undefined));
  responses.flow();
  await receiver.waitFor(40);
  expect(responses.mostUnderWay).toBe(2);

  await change(id, { max_concurrency: null });
  responses.hold();
  await publish(20);
  await until(async () => (responses.underWay > 2 ? true : undefined));
  responses.flow();
  await receiver.waitFor(60);
});

/** A receiver's responses, which can be held up, and how many requests wait for one. */
class HeldResponses {
  underWay = 0;
  mostUnderWay = 0;
  #flows = Promise.resolve();
  #open = () => {};

  async next(): Promise<number> {
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    await this.#flows;
    this.underWay -= 1;
    return 204;
  }

  hold(): void {
    this.#flows = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  flow(): void {
    this.#open();
  }
}
