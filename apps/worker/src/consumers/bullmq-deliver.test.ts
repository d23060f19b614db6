import { EventEmitter, once } from 'node:events';
import { deliveryIdOf, type NewDelivery } from '@hookferry/core/domain/delivery';
import { keys } from '@hookferry/core/domain/keys';
import { DELIVERIES_QUEUE, oneShard, type QueueShards } from '@hookferry/core/domain/queues';
import type { DeliveryRequest, SendResult } from '@hookferry/core/domain/transport';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { systemClock } from '@hookferry/core/platform/clock';
import { connectRedis, type RedisClient } from '@hookferry/core/platform/redis-connect';
import { createInOrder } from '@hookferry/core/platform/redis-script';
import { DeliveryPlacement } from '@hookferry/core/queue/redis-delivery-placement';
import { responded } from '@hookferry/core/testing/arrange-delivery';
import { buildAdmission } from '@hookferry/core/testing/build-admission';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { createClosables } from '@hookferry/core/testing/closables';
import { recordRaised } from '@hookferry/core/testing/record-raised';
import { recordSignals } from '@hookferry/core/testing/record-signals';
import { startRedisProxy } from '@hookferry/core/testing/redis-proxy';
import { startRedisServer } from '@hookferry/core/testing/redis-server';
import { openTestRedis } from '@hookferry/core/testing/test-redis';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { Queue } from 'bullmq';
import { DeliveryConsumer, type DeliveryConsumerContext } from './bullmq-deliver';
import { SharedCapacity } from './bullmq-worker';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

type Receive = (request: DeliveryRequest, abortSignal: AbortSignal) => Promise<SendResult>;

const ACCEPTS: Receive = async () => responded(204);

interface WorkerOptions {
  readonly receive?: Receive;
  readonly shards?: QueueShards;
  readonly change?: Partial<DeliveryConsumerContext>;
}

/** A worker process that takes deliveries, with the receiver of its requests. It is not started. */
function openProcess(
  redis: RedisClient,
  { receive = ACCEPTS, shards = oneShard('bull'), change }: WorkerOptions = {},
) {
  const signals = recordSignals();
  const requests: DeliveryRequest[] = [];
  const admission = willClose(buildAdmission({ redis, clock: systemClock, signals }));
  const context: DeliveryConsumerContext = {
    ...admission,
    redis,
    eventStore: new EventStore(redis, testRetention),
    placement: new DeliveryPlacement(
      redis,
      { ...shards, formerHomeShardsOf: () => [], isSettled: true },
      admission.deliveryQueue,
    ),
    inOrder: createInOrder(redis),
    operationalEvents: recordRaised(),
    healthRecorder: { record: () => {} },
    retrySchedule: [60_000, 60_000],
    workerId: 'f00d42',
    requestStyle: {
      userAgent: 'hooks/1.2',
      signatureHeader: { name: 'X-Service-Signature', prefix: 'sha256=' },
    },
    async transport(request, abortSignal) {
      requests.push(request);
      return await receive(request, abortSignal);
    },
    deliveryCapacity: new SharedCapacity(1),
    lockDurationMs: 30_000,
    stopDeadlineMs: 60_000,
    ...change,
  };
  const consumer = new DeliveryConsumer(context, shards.first);
  willClose({ close: () => consumer.stop() });
  return { consumer, context, signals, requests };
}

function connect(url: string): RedisClient {
  const redis = connectRedis({ url, role: 'working', name: 'test', emit: () => {} });
  willClose({ close: () => redis.disconnect() });
  return redis;
}

/** Deliveries, and what is left of them in Redis. */
async function arrange(url?: string) {
  const database = willClose(await openTestRedis(url));
  const { client } = database;
  const parts = willClose(buildAdmission({ redis: client, clock: systemClock }));
  const eventStore = new EventStore(client, testRetention);
  const queue = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  const endpoint = buildEndpoint();
  const { accountId, id: endpointId } = endpoint;
  await parts.endpointStore.create(endpoint);
  return {
    ...database,
    ...parts,
    endpoint,
    eventStore,
    queue,
    async addDelivery(): Promise<NewDelivery> {
      const event = buildEvent({ accountId, acceptedAt: systemClock() });
      const delivery = { accountId, endpointId, eventId: event.id };
      await eventStore.save(event);
      await parts.deliveryStore.enlist(event.id, [endpointId], event.acceptedAt);
      await parts.deliveryQueue.addAll([delivery]);
      return delivery;
    },
    async untilGone(...deliveries: readonly NewDelivery[]): Promise<void> {
      while ((await client.exists(...deliveries.map((one) => queue.toKey(deliveryIdOf(one))))) > 0);
    },
    readRecord: (delivery: NewDelivery) => parts.deliveryStore.find(delivery),
  };
}

it('waits while Redis is out of memory, and sends nothing twice', async () => {
  const server = willClose(await startRedisServer());
  const { addDelivery, untilGone, readRecord, url } = await arrange(server.url);
  const redis = connect(url);
  const { consumer, signals, requests } = openProcess(redis, {
    async receive() {
      if (requests.length === 2) await server.fillUp();
      return responded(204);
    },
  });
  const deliveries = [await addDelivery(), await addDelivery(), await addDelivery()];
  consumer.start();
  await signals.first('delivery.follow_up_failed');
  await server.makeRoom();
  await untilGone(...deliveries);
  expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(
    deliveries.map(({ eventId }) => eventId),
  );
  for (const delivery of deliveries) {
    expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
  }
});

describe('a reply that is lost with the connection', () => {
  it('to the record of an attempt: it is recorded and sent once, and the next delivery follows soon', async () => {
    const { addDelivery, untilGone, readRecord, url, endpoint } = await arrange();
    const proxy = willClose(await startRedisProxy(url));
    const { consumer, signals, requests } = openProcess(connect(proxy.url));
    // From here on Redis knows the scripts.
    const known = [await addDelivery(), await addDelivery()];
    consumer.start();
    await untilGone(...known);
    const isLost = proxy.swallowAnswerTo(keys.answerBytes(endpoint.id));
    const deliveries = [await addDelivery(), await addDelivery()];
    await isLost;
    await untilGone(...deliveries);
    expect(requests).toHaveLength(known.length + deliveries.length);
    for (const delivery of deliveries) {
      expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
    }
    expect(signals.named('delivery.ended')).toHaveLength(4);
    expect(signals.named('job.failed')).toEqual([]);
  });

  it('does no harm, wherever a connection breaks while an attempt is recorded', async () => {
    const { addDelivery, untilGone, readRecord, url } = await arrange();
    const proxy = willClose(await startRedisProxy(url));
    const receiver = new EventEmitter();
    const { consumer, requests } = openProcess(connect(proxy.url), {
      async receive() {
        const isToRespond = once(receiver, 'respond');
        receiver.emit('request');
        await isToRespond;
        return responded(204);
      },
    });
    const nextRequest = () => once(receiver, 'request');
    consumer.start();
    for (let bytes = 50; bytes < 2_600; bytes += 300) {
      requests.length = 0;
      const begun = nextRequest();
      const deliveries = [await addDelivery(), await addDelivery()];
      await begun;
      proxy.cutAfter(bytes);
      const followed = nextRequest();
      receiver.emit('respond');
      await followed;
      receiver.emit('respond');
      await untilGone(...deliveries);
      expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(
        deliveries.map(({ eventId }) => eventId),
      );
      for (const delivery of deliveries) {
        expect(await readRecord(delivery)).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
      }
    }
  });
});
