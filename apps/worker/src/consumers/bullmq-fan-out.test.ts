import { EventEmitter, once } from 'node:events';
import type { OpenAccounts } from '@hookferry/core/accounts/open-accounts';
import type { AccountStanding } from '@hookferry/core/accounts/redis-account-store';
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

const everyAccount = fake<OpenAccounts>({
  standingOf: async () => ({ state: 'open', historyDays: undefined }),
});
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

describe('for an account that takes no events', () => {
  const ERASING_SINCE = 1_900_000_000_000;

  /** Takes an event that the API accepted, one that a producer pushed for the same account, and what is no event. */
  async function takeAll(standing: AccountStanding, pushedAt: number) {
    const queues = willClose(await openTestQueues());
    const { url, client, context, signals } = queues;
    await once(context.redis, 'ready');
    const event = buildEvent();
    const { accountId } = event;
    const queue = willClose(new Queue(EVENTS_QUEUE, { connection: client }));
    const consumer = openConsumer(queues, {
      oldestEvents: new OldestEvents(context.redis, shards),
      rejectedEvents: new RejectedEvents(context.redis, shards, Date.now),
      openAccounts: fake<OpenAccounts>({ standingOf: async () => standing }),
    });
    await new EventQueue(context.redis, shards).add(event);
    const pushed = { account_id: accountId, type: 'brief.created', data: { secret: 'of the account' } };
    await queue.add('brief.created', pushed, { jobId: 'pushed', timestamp: pushedAt });
    await queue.add('no event', { account_id: accountId }, { jobId: 'none', timestamp: pushedAt });
    const progress = willClose(new QueueEvents(EVENTS_QUEUE, { connection: { url } }));
    await progress.waitUntilReady();
    const drained = once(progress, 'drained');
    consumer.start();
    await drained;
    const deadLetterStore = new DeadLetterStore(client, shards, Date.now);
    const { deadLetters } = await deadLetterStore.list(undefined, 10);
    const kept = await Promise.all(deadLetters.map(({ id }) => deadLetterStore.find(id)));
    return {
      dropped: signals.named('event.dropped').map(({ jobId }) => jobId),
      rejected: signals.named('event.rejected'),
      kept: kept.map((letter) => letter?.dataText ?? ''),
      ofApi: `${accountId}.${event.id}`,
      accountId,
    };
  }

  it('makes dead letters of what is pushed for one that never was, with all that it takes to retry them', async () => {
    const { dropped, rejected, kept, accountId } = await takeAll({ state: 'unknown' }, ERASING_SINCE);
    expect(dropped).toEqual([]);
    const reason = `There is no account "${accountId}". Correct the producer's accountId; or create the account, then retry this dead letter.`;
    expect(rejected).toMatchObject([
      { jobId: 'pushed', code: 'not_found', reason },
      { jobId: 'none', code: 'not_found', reason },
    ]);
    expect(kept.filter((text) => text.includes('of the account'))).toHaveLength(1);
  });

  it('makes one dead letter, without data, of what is pushed for one after its erasure began', async () => {
    const erased: AccountStanding = { state: 'erased', erasingSince: ERASING_SINCE };
    const { dropped, rejected, kept, ofApi } = await takeAll(erased, ERASING_SINCE + 1);
    expect([dropped, rejected]).toEqual([[ofApi, 'pushed', 'none'], []]);
    expect(kept).toHaveLength(1);
    expect(kept.join()).not.toContain('of the account');
  });

  it('drops what was on the queue before, and says so', async () => {
    const erased: AccountStanding = { state: 'erased', erasingSince: ERASING_SINCE };
    const { dropped, rejected, ofApi } = await takeAll(erased, ERASING_SINCE - 1);
    expect([dropped, rejected]).toEqual([[ofApi, 'pushed', 'none'], []]);
  });
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
