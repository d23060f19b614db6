import { Queue } from 'bullmq';
import { keywordQuickWin } from '../catalogue/built-in/keyword-quick-win';
import { EVENTS_QUEUE } from '../model/queue-names';
import { buildReadEventJob } from '../testing/build-read-event-job';
import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { createEventPublisher } from './bullmq-publish-event';

const { name: type, example: data } = keywordQuickWin;

let redis: TestRedis;
let publisher: ReturnType<typeof createEventPublisher>;
let jobs: Queue;
beforeAll(async () => {
  redis = await openTestRedis();
  publisher = createEventPublisher({ connection: redis.client });
  jobs = new Queue(EVENTS_QUEUE, { connection: redis.client });
});
const { willClose, closeAll } = createClosables();
afterEach(closeAll);
afterEach(() => jobs.drain());
afterAll(async () => {
  await Promise.all([publisher.close(), jobs.close()]);
  await redis.close();
});

describe('publishEvent', () => {
  it('pushes the job that the public contract describes', async () => {
    await publisher.publishEvent({ accountId: 'default', type, data, id: 'order-17' });
    expect(await jobs.getWaiting()).toMatchObject([
      { name: type, data: { account_id: 'default', type, data, id: 'order-17' } },
    ]);
  });

  it('aims an event at certain webhooks', async () => {
    const webhookIds = [uniqueEndpointId()];
    await publisher.publishEvent({ accountId: 'default', type, data, webhookIds });
    expect((await jobs.getWaiting())[0]?.data).toEqual({
      account_id: 'default',
      type,
      data,
      webhook_ids: webhookIds,
    });
  });

  it('pushes what the worker reads as a valid event, also without an id', async () => {
    const accountId = uniqueAccountId();
    await publisher.publishEvent({ accountId, type, data });
    const [job] = await jobs.getWaiting();
    const { id = '', name, timestamp, data: jobData } = job ?? { name: '', timestamp: 0, data: null };
    expect(await buildReadEventJob()({ id, name, timestamp, data: jobData })).toMatchObject({
      source: 'queue',
      event: { accountId, type, body: JSON.stringify({ type, data }), acceptedAt: timestamp },
    });
  });

  it('makes one event of what is published twice under the same id', async () => {
    const event = { accountId: uniqueAccountId(), type, data, id: '17' };
    await publisher.publishEvent(event);
    await publisher.publishEvent(event);
    await publisher.publishEvent({ ...event, accountId: uniqueAccountId() });
    expect(await jobs.getWaitingCount()).toBe(2);
  });

  it('makes an event each time when there is no id', async () => {
    const event = { accountId: uniqueAccountId(), type, data };
    await publisher.publishEvent(event);
    await publisher.publishEvent(event);
    expect(await jobs.getWaitingCount()).toBe(2);
  });

  it('publishes to a Cluster under the prefix that the worker reads there', async () => {
    const clusterPublisher = willClose(createEventPublisher({ connection: redis.client, cluster: true }));
    const clusterJobs = willClose(new Queue(EVENTS_QUEUE, { connection: redis.client, prefix: '{bull}' }));
    await clusterPublisher.publishEvent({ accountId: uniqueAccountId(), type, data });
    expect(await clusterJobs.getWaitingCount()).toBe(1);
  });
});
