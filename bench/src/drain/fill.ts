import type { AccountId } from '@hookferry/core/domain/account';
import { type Endpoint, usesLane } from '@hookferry/core/domain/endpoint';
import type { EventId } from '@hookferry/core/domain/event';
import { createQueueLayout, shardsAmong } from '@hookferry/core/domain/queues';
import { BesideLanes } from '@hookferry/core/endpoints/admission/redis-beside-lanes';
import { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { EventStore } from '@hookferry/core/events/redis-event-store';
import { Turns } from '@hookferry/core/platform/batches';
import { systemClock } from '@hookferry/core/platform/clock';
import { createNewId } from '@hookferry/core/platform/ids';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { connectRedis, queuePrefix } from '@hookferry/core/platform/redis-connect';
import { fanOutEvents } from '@hookferry/core/publish/fan-out-event';
import { FanOuts, type PublishingParts } from '@hookferry/core/publish/publishing-parts';
import { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import { LayoutStore } from '@hookferry/core/queue/redis-layout-store';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { fake } from '@hookferry/core/testing/fake';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { EVENT_TYPE, textOf } from '../traffic/events';

export interface Filling {
  readonly redisUrl: string;
  readonly receiverUrl: string;
  readonly deliveries: number;
  readonly endpoints: number;
  /** How many of them an account has; ten unless given. */
  readonly perAccount?: number;
  /** How many the queues are split over; one unless given. */
  readonly shards?: number;
  /** What its endpoints are like beside their URL. */
  readonly endpoint?: Partial<Endpoint>;
  /** How many groups the events belong to in turn; to none unless given. */
  readonly groups?: number;
  /** Whether a few endpoints get most of it, as in life: the n-th so much as 1/n of the first. */
  readonly isSkewed?: boolean;
}

const RETENTION = { ageMs: 86_400_000, count: 1_000_000 };
const PER_ACCOUNT = 10;
const AT_ONCE = 200;

/**
 * Fills an empty Redis with deliveries that wait, by the service's own code: one for each event.
 * @public It is loaded from the build that is measured.
 */
export async function fill(filling: Filling): Promise<void> {
  const { redisUrl, deliveries, groups, shards: count = 1 } = filling;
  const redis = connectRedis({ url: redisUrl, role: 'working', name: 'bench', emit: () => {} });
  const firstPrefix = queuePrefix(redisUrl);
  await new LayoutStore(redis, firstPrefix).look(count, []);
  const shards = shardsAmong(createQueueLayout(count, firstPrefix), []);
  const deliveryQueue = new DeliveryQueue(redis, shards);
  const endpointStore = new EndpointStore(redis, testSealer);
  const subscribers = await createEndpoints(endpointStore, filling);
  const parts = fake<PublishingParts>({
    eventStore: new EventStore(redis, RETENTION),
    deliveryStore: new DeliveryStore(redis, RETENTION),
    besideLanes: new BesideLanes(redis),
    deliveryQueue,
    atomic: createAtomic(redis),
    fanOuts: new FanOuts(),
    fanOutTurns: new Turns(),
    clock: systemClock,
    emit: () => {},
  });
  const newId = createNewId(systemClock);
  const choose = chooser(subscribers, filling.isSkewed ?? false);
  for (let start = 0; start < deliveries; start += AT_ONCE) {
    const receivers = Array.from({ length: Math.min(AT_ONCE, deliveries - start) }, (_, i) =>
      choose(start + i),
    );
    await fanOutEvents(
      parts,
      receivers.flatMap((receiver, i) => {
        if (!receiver) return [];
        const id = newId('evt') as EventId;
        const body = textOf(start + i);
        const event = {
          id,
          accountId: receiver.accountId,
          type: EVENT_TYPE,
          body,
          acceptedAt: systemClock(),
          ...(groups === undefined ? {} : { group: `group-${(start + i) % groups}` }),
        };
        return [{ event, receivers: [{ ...receiver, isInLane: usesLane(receiver) }] }];
      }),
    );
  }
  redis.disconnect();
}

async function createEndpoints(
  endpointStore: EndpointStore,
  { endpoints, perAccount = PER_ACCOUNT, receiverUrl, endpoint }: Filling,
): Promise<readonly Endpoint[]> {
  const subscribers: Endpoint[] = [];
  for (let start = 0; start < endpoints; start += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, endpoints - start) }, (_, i) =>
      buildEndpoint({
        accountId: `account-${Math.floor((start + i) / perAccount)}` as AccountId,
        url: receiverUrl,
        ...endpoint,
      }),
    );
    await Promise.all(some.map((each) => endpointStore.create(each)));
    subscribers.push(...some);
  }
  return subscribers;
}

/** One after the other, or by chance with the weights 1, 1/2, 1/3, …: the rank's logarithm is even. */
function chooser(subscribers: readonly Endpoint[], isSkewed: boolean): (i: number) => Endpoint | undefined {
  const count = subscribers.length;
  if (!isSkewed) return (i) => subscribers[i % count];
  return () => subscribers[Math.min(Math.floor((count + 1) ** Math.random()) - 1, count - 1)];
}
