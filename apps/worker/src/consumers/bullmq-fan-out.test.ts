import { EventEmitter, once } from 'node:events';
import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import type { OpenAccounts } from '@hookferry/core/accounts/open-accounts';
import type { AccountId } from '@hookferry/core/domain/account';
import { deadLetterIdOf } from '@hookferry/core/domain/dead-letter';
import type { AcceptedEvent } from '@hookferry/core/domain/event';
import { keys, queueKeysOf } from '@hookferry/core/domain/keys';
import { EVENTS_QUEUE, oneShard } from '@hookferry/core/domain/queues';
import { isNotedAsQueued } from '@hookferry/core/events/event-text';
import { digestOf, MovedIds } from '@hookferry/core/events/redis-moved-ids';
import type { Step } from '@hookferry/core/platform/redis-script';
import { Publishing } from '@hookferry/core/publish/publishing';
import type { PublishingParts } from '@hookferry/core/publish/publishing-parts';
import { ScheduledEvents } from '@hookferry/core/publish/scheduled-events';
import { DeadLetterStore } from '@hookferry/core/queue/bullmq-dead-letter-store';
import { EventQueue } from '@hookferry/core/queue/bullmq-event-queue';
import { OldestEvents } from '@hookferry/core/queue/bullmq-oldest-events';
import { RejectedEvents } from '@hookferry/core/queue/bullmq-rejected-events';
import { buildAtomic } from '@hookferry/core/testing/build-atomic';
import { buildEvent } from '@hookferry/core/testing/build-event';
import { createClosables } from '@hookferry/core/testing/closables';
import { fake } from '@hookferry/core/testing/fake';
import { keepMovedId } from '@hookferry/core/testing/keep-moved-id';
import { openPublishingParts } from '@hookferry/core/testing/open-publishing-parts';
import { testRetention } from '@hookferry/core/testing/test-retention';
import { Queue, QueueEvents } from 'bullmq';
import type { Redis } from 'ioredis';
import { SharedCapacity } from '../capacity';
import { openTestQueues, type TestQueues } from '../testing/open-test-queues';
import { type EventWorkerParts, openEventWorker } from './bullmq-fan-out';

const queueKeys = queueKeysOf('bull');

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const shards = oneShard('bull');

type ConsumerParts = Pick<EventWorkerParts, 'oldestEvents' | 'rejectedEvents' | 'openAccounts'> &
  Partial<PublishingParts>;

const everyAccount = fake<OpenAccounts>({ takesEvents: async () => true });
const noDeadLetters = fake<RejectedEvents>({ keep: async () => [] });

// The worker's look for jobs of dead ones is one.
const isFanOut = (steps: readonly Step[]) => steps.length > 1;

/** Takes one event at a time. */
function openConsumer({ context, shard }: TestQueues, given: ConsumerParts): { start(): void } {
  const parts = { ...openPublishingParts(context.redis), ...context, ...given };
  const publishing = new Publishing(parts, new ScheduledEvents(parts));
  const eventCapacity = new SharedCapacity(1);
  return willClose(openEventWorker({ ...parts, publishing, eventCapacity }, shard));
}

it('drops what comes for an account that is erased, an event or not, and says so', async () => {
  const queues = willClose(await openTestQueues());
  const { url, client, context, signals } = queues;
  await once(context.redis, 'ready');
  const event = buildEvent();
  const queue = willClose(new Queue(EVENTS_QUEUE, { connection: client }));
  const unexpected = async () => {
    throw new Error('Nothing is to become of it.');
  };
  const consumer = openConsumer(queues, {
    oldestEvents: new OldestEvents(context.redis, shards),
    rejectedEvents: fake<RejectedEvents>({ keep: unexpected }),
    openAccounts: fake<OpenAccounts>({ takesEvents: async (accountId) => accountId !== event.accountId }),
    quota: fake<AccountQuota>({ requireRoomAsKnown: unexpected }),
    atomic: buildAtomic(unexpected),
  });
  await new EventQueue(context.redis, shards).add(event);
  await queue.add('no event', { account_id: event.accountId }, { jobId: 'none' });
  const progress = willClose(new QueueEvents(EVENTS_QUEUE, { connection: { url } }));
  await progress.waitUntilReady();
  const drained = once(progress, 'drained');
  consumer.start();
  await drained;
  expect(signals.named('event.dropped').map(({ jobId }) => jobId)).toEqual([
    `${event.accountId}.${event.id}`,
    'none',
  ]);
  expect(signals.named('job.interrupted')).toEqual([]);
});

it('lets those who deliver in order know of an event that is put back, until it is fanned out', async () => {
  const queues = willClose(await openTestQueues());
  const { url, client, context } = queues;
  await once(context.redis, 'ready');
  const progress = willClose(new QueueEvents(EVENTS_QUEUE, { connection: { url } }));
  await progress.waitUntilReady();
  const [putBack, completed] = [once(progress, 'delayed'), once(progress, 'completed')];

  const event = buildEvent();
  const younger = buildEvent({ accountId: event.accountId });
  const oldestEvents = new OldestEvents(context.redis, shards);
  const noted = () => client.zcard(queueKeys.putBackEvents(event.accountId));
  let runs = 0;
  const test = new EventEmitter();
  const hasLooked = once(test, 'looked');
  const consumer = openConsumer(queues, {
    oldestEvents,
    rejectedEvents: noDeadLetters,
    openAccounts: everyAccount,
    atomic: buildAtomic(async (steps) => {
      if (!isFanOut(steps)) return await context.atomic(steps);
      runs += 1;
      if (runs === 1) throw new Error('OOM');
      await hasLooked;
      return steps.map(() => undefined);
    }),
  });
  await new EventQueue(context.redis, shards).add(event);

  consumer.start();
  await putBack;
  expect([await noted(), await oldestEvents.hasOlder(younger)]).toEqual([1, true]);
  test.emit('looked');
  await completed;
  expect([await noted(), await oldestEvents.hasOlder(younger)]).toEqual([0, false]);
});

describe('with a history', () => {
  const RETENTION_MS = 60_000;

  interface Given {
    readonly client: Redis;
    readonly movedIds: MovedIds;
  }

  /** Takes an event from the queue, and gives how many fan-outs came of it. */
  async function takeOne(arrange: (event: AcceptedEvent, given: Given) => Promise<unknown>) {
    const queues = willClose(await openTestQueues());
    const { url, client, context } = queues;
    await once(context.redis, 'ready');
    const progress = willClose(new QueueEvents(EVENTS_QUEUE, { connection: { url } }));
    await progress.waitUntilReady();
    const completed = once(progress, 'completed');
    const movedIds = new MovedIds(context.redis, RETENTION_MS);
    const event = buildEvent({ acceptedAt: Date.now() });
    await arrange(event, { client, movedIds });
    let fanOuts = 0;
    const consumer = openConsumer(queues, {
      oldestEvents: new OldestEvents(context.redis, shards),
      rejectedEvents: noDeadLetters,
      openAccounts: everyAccount,
      movedIds,
      atomic: buildAtomic(async (steps) => {
        if (isFanOut(steps)) fanOuts += 1;
        return await context.atomic(steps);
      }),
    });
    await new EventQueue(context.redis, shards).add(event);
    consumer.start();
    await completed;
    return { fanOuts, stored: await client.get(keys.event(event.accountId, event.id)) };
  }

  it('notes of a new event that it came by the queue', async () => {
    const { fanOuts, stored } = await takeOne(async () => {});
    expect(fanOuts).toBe(1);
    expect(isNotedAsQueued(stored ?? '')).toBe(true);
  });

  it.each<[string, (event: AcceptedEvent, given: Given) => Promise<unknown>]>([
    [
      'is in its account’s list',
      async ({ accountId, id, acceptedAt }, { client }) =>
        await client.zadd(keys.events(accountId), acceptedAt, id),
    ],
    [
      'has moved',
      async ({ accountId, id: eventId, acceptedAt, body }, { client, movedIds }) => {
        const movedId = { kind: 'queued', digest: digestOf(body) } as const;
        await keepMovedId(client, movedIds, { accountId, eventId, acceptedAt, movedId }, acceptedAt);
      },
    ],
  ])('makes no delivery of an event again that %s', async (_where, arrange) => {
    const { fanOuts } = await takeOne(arrange);
    expect(fanOuts).toBe(0);
  });
});

describe('a scheduled event without a record', () => {
  /** Takes its job, and gives the dead letters that came of it. */
  async function takeDue(dueAt: number) {
    const queues = willClose(await openTestQueues());
    const { url, client, context, signals } = queues;
    await once(context.redis, 'ready');
    const progress = willClose(new QueueEvents(EVENTS_QUEUE, { connection: { url } }));
    await progress.waitUntilReady();
    const completed = once(progress, 'completed');
    const { accountId, id: eventId } = buildEvent();
    const consumer = openConsumer(queues, {
      clock: Date.now,
      openAccounts: everyAccount,
      oldestEvents: new OldestEvents(context.redis, shards),
      rejectedEvents: new RejectedEvents(context.redis, shards, Date.now),
    });
    const data = { account_id: accountId, id: eventId, due_at: dueAt, v: 2 };
    await willClose(new Queue(EVENTS_QUEUE, { connection: client })).add('scheduled', data);
    consumer.start();
    await completed;
    const { deadLetters } = await new DeadLetterStore(client, shards, Date.now).list(undefined, 10);
    return { deadLetters, eventId, rejected: signals.named('event.rejected') };
  }

  it('is a dead letter when it lapsed before a worker took it, and says so', async () => {
    const { deadLetters, eventId, rejected } = await takeDue(Date.now() - testRetention.ageMs);
    const reason = expect.stringContaining(`The scheduled event "${eventId}" was not sent`);
    expect(deadLetters).toMatchObject([{ reason }]);
    expect(rejected).toMatchObject([{ code: 'not_found', reason }]);
  });

  it('is nothing to tell of when it was sent, and has moved to the history since', async () => {
    const { deadLetters, rejected } = await takeDue(Date.now() - testRetention.ageMs / 2);
    expect([deadLetters, rejected]).toEqual([[], []]);
  });
});

it('keeps an invalid event that is nested too deeply to be written again, and holds nobody up for it', async () => {
  const queues = willClose(await openTestQueues());
  const { client, context, signals } = queues;
  const events = willClose(new Queue(EVENTS_QUEUE, { connection: client }));
  const consumer = openConsumer(queues, {
    openAccounts: everyAccount,
    oldestEvents: new OldestEvents(context.redis, shards),
    rejectedEvents: new RejectedEvents(context.redis, shards, Date.now),
  });
  const data = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const deep = `{"account_id":"default","type":"keyword.lost","data":${data}}`;
  const { id = '' } = await events.add('keyword.lost', {});
  await client.hset(`bull:events:${id}`, 'data', deep);

  consumer.start();
  expect(await signals.first('job.failed')).toMatchObject({ jobId: id, isForGood: true });
  const deadLetterStore = new DeadLetterStore(client, oneShard('bull'), Date.now);
  const [deadLetter] = (await deadLetterStore.list(undefined, 10)).deadLetters;
  expect(deadLetter).toMatchObject({
    id: `events.${id}`,
    reason: expect.stringContaining('is more than 100 levels deep'),
  });
  expect((await deadLetterStore.find(deadLetterIdOf('events', id)))?.dataText).toBe(deep);
  expect(await client.zcard(queueKeys.putBackEvents('default' as AccountId))).toBe(0);
});
