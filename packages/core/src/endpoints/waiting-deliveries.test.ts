import { AccountStore } from '../accounts/redis-account-store';
import type { Endpoint } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { oneShard } from '../domain/queues';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { buildEndpoints } from '../testing/build-endpoints';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { BesideLanes } from './admission/redis-beside-lanes';

const NOW = 1_700_000_000_000;

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

/** Another change is made while those that are held are listed. */
class InterruptedHeldDeliveries extends HeldDeliveries {
  #interruptions: (() => Promise<unknown>)[] = [];

  interruptBy(...changes: readonly (() => Promise<unknown>)[]): void {
    this.#interruptions = [...changes];
  }

  override async *pagesOf(...args: Parameters<HeldDeliveries['pagesOf']>) {
    for await (const page of super.pagesOf(...args)) {
      await this.#interruptions.shift()?.();
      yield page;
    }
  }
}

async function arrange() {
  const { client } = redis;
  const heldDeliveries = new InterruptedHeldDeliveries(client, oneShard('bull'));
  const endpoints = buildEndpoints(client, { heldDeliveries, clock: () => NOW });
  const accountId = uniqueAccountId();
  await new AccountStore(client).create({ id: accountId, createdAt: NOW });
  const id = uniqueEndpointId();
  await endpoints.create(accountId, { url: 'https://example.com/hook', events: ['*'] }, id);
  const held = { eventId: uniqueEventId(), acceptedAt: NOW };
  await heldDeliveries.enter({ accountId, endpointId: id }, held, NOW, 'disabled');
  const order = (ordering: Endpoint['ordering']) => endpoints.update(accountId, id, { ordering });
  const remove = () => endpoints.remove(accountId, id);
  const places = async () => await new BesideLanes(client).list(id, undefined, 0, 10);
  return { id, held, heldDeliveries, order, remove, places };
}

it('leaves no places to an endpoint whose order has ended while they were given', async () => {
  const { heldDeliveries, order, places } = await arrange();
  heldDeliveries.interruptBy(() => order('none'));
  await order('strict');
  expect(await places()).toEqual([]);
});

it('gives the places of the order that is in force in the end', async () => {
  const { held, heldDeliveries, order, places } = await arrange();
  heldDeliveries.interruptBy(() => order('strict'));
  await order('group');
  expect(await places()).toEqual([held]);
});

it('leaves no places to an endpoint that was deleted while they were given', async () => {
  const { id, heldDeliveries, order, remove } = await arrange();
  heldDeliveries.interruptBy(remove);
  await order('strict');
  expect(await redis.client.exists(keys.order(id))).toBe(0);
});
