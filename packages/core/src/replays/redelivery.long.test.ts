import { Queue } from 'bullmq';
import { AuditLog } from '../accounts/audit/redis-audit-log';
import { deliveryIdOf } from '../domain/delivery';
import type { DeliveryFact } from '../domain/delivery-fact';
import { FULL_LOG_BYTES } from '../domain/delivery-log';
import { laneNameOf } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { DELIVERIES_QUEUE, oneShard } from '../domain/queues';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import { Deliveries } from '../history/deliveries';
import { Recent } from '../history/redis-recent';
import { WholeHistory } from '../history/whole-history';
import { createAtomic } from '../platform/redis-atomic';
import { DeliveryHolds } from '../queue/bullmq-delivery-holds';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { RunningBatches } from '../queue/bullmq-running-batches';
import { RunningJobs } from '../queue/bullmq-running-jobs';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildNewDeliveries } from '../testing/build-new-deliveries';
import { buildVerification } from '../testing/build-verification';
import { createClosables } from '../testing/closables';
import { recordSignals } from '../testing/record-signals';
import { type RedisServer, startRedisServer } from '../testing/redis-server';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { testSealer } from '../testing/test-sealer';
import { uniqueEndpointId, uniqueEventId } from '../testing/unique-ids';
import { takeFromWaiting, WAITING, WAITS } from '../testing/waiting-jobs';
import { Redelivery } from './redelivery';

const NOW = 1_700_000_000_000;
const LATER = NOW + 3_600_000;

// Its commands are counted.
let server: RedisServer;
let redis: TestRedis;
const { willClose, closeAll } = createClosables();
beforeAll(async () => {
  server = await startRedisServer();
  redis = await openTestRedis(server.url);
});
afterEach(async () => {
  await closeAll();
  await redis.client.flushdb();
});
afterAll(async () => {
  await redis.close();
  await server.close();
});

const exhausted: DeliveryFact = {
  kind: 'attempted',
  attempt: buildAttempt(),
  nextAttemptAt: undefined,
  eventType: 'keyword.quick_win',
};
const failed: DeliveryFact = { ...exhausted, nextAttemptAt: LATER };
const longAttempt = buildAttempt({ responseBody: 'x'.repeat(FULL_LOG_BYTES) });

/** An event, and an endpoint that it may have gone to. */
async function arrange() {
  const { client } = redis;
  const signals = recordSignals();
  const stores = {
    endpointStore: new EndpointStore(client, testSealer),
    eventStore: new EventStore(client, testRetention),
    deliveryStore: new DeliveryStore(client, testRetention),
    heldDeliveries: new HeldDeliveries(client, oneShard('bull')),
    deliveryHolds: new DeliveryHolds(client, oneShard('bull')),
  };
  const shown = {
    ...stores,
    history: new WholeHistory(new Recent(stores)),
    admissionStore: new AdmissionStore(client),
    besideLanes: new BesideLanes(client),
    auditLog: new AuditLog(client),
    ...buildVerification(client),
    clock: () => NOW,
  };
  const parts = {
    ...shown,
    deliveries: new Deliveries(shown),
    deliveryQueue: new DeliveryQueue(client, oneShard('bull')),
    atomic: createAtomic(client),
    emit: signals.listen,
  };
  const redelivery = new Redelivery(parts);
  const jobs = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
  const endpoint = buildEndpoint();
  const { accountId } = endpoint;
  const event = buildEvent({ accountId });
  const delivery = { eventId: event.id, endpointId: endpoint.id };
  const jobId = deliveryIdOf(delivery);
  const input = { accountId, acceptedAt: event.acceptedAt, ...delivery, trigger: 'manual' } as const;
  const addRequested = parts.deliveryQueue.addRequested.bind(parts.deliveryQueue);
  const added = jest.spyOn(parts.deliveryQueue, 'addRequested');
  return {
    parts,
    redelivery,
    runningJobs: new RunningJobs(client, { prefix: 'bull' }, 30_000),
    runningBatches: new RunningBatches(client, { prefix: 'bull' }, 30_000),
    endpoint,
    event,
    delivery,
    signals,
    addRequested,
    /** How many jobs were added together, each time. */
    batches: () => added.mock.calls.map(([all]) => all.length),
    /** The job of the schedule, as a fan-out or a retry leaves it. */
    addJob: () => parts.deliveryQueue.addAll([{ accountId, ...delivery }]),
    delayJob: (data: object = { account_id: accountId }) => jobs.add('d', data, { jobId, delay: 3_600_000 }),
    endJob: () => jobs.remove(jobId),
    async failJob() {
      await takeFromWaiting(client, jobs, jobId);
      await client.zadd(jobs.toKey('failed'), 1, jobId);
    },
    /** As while a worker is at it. */
    lock: () => client.set(jobs.toKey(`${jobId}:lock`), 'worker'),
    unlock: () => client.del(jobs.toKey(`${jobId}:lock`)),
    jobState: () => jobs.getJobState(jobId),
    countJobs: () => jobs.getJobCountByTypes(...WAITING),
    append: (fact: DeliveryFact) => parts.deliveryStore.append(delivery, fact),
    read: async () => (await parts.deliveryStore.readWithLength(delivery.endpointId, delivery.eventId)).state,
    async isListed() {
      const { deliveries } = await parts.deliveryStore.list(delivery.endpointId, 10);
      return deliveries.some(({ eventId }) => eventId === delivery.eventId);
    },
    receivers: async () => (await parts.eventStore.listReceivers(accountId, event.id, 10)).members,
    bringForward: (requestId: string) => redelivery.bringForward({ ...input, requestId }),
    async bringAllForward(requestId: string) {
      const [outcome] = await redelivery.bringAllForward([{ ...input, requestId }]);
      return outcome;
    },
    request: (requestId: string) => redelivery.request({ ...input, requestId }),
    /** This delivery, and as many new ones to other endpoints. */
    requestWith: (others: number, requestId: string) =>
      redelivery.requestAll(
        accountId,
        [delivery.endpointId, ...Array.from({ length: others }, uniqueEndpointId)].map((endpointId) => ({
          ...input,
          endpointId,
          trigger: 'replay',
          requestId,
        })),
      ),
    redeliver: () => redelivery.redeliver(accountId, jobId, 'rdl_1'),
  };
}

describe('redeliver', () => {
  /** A delivery that was tried, and `onThirdTry` to make the moment pass in which it can't be sent. */
  async function arrangeTried(last: DeliveryFact, { isEventKept = true } = {}) {
    const all = await arrange();
    const { endpointStore, eventStore, deliveryStore, deliveryQueue } = all.parts;
    await endpointStore.create(all.endpoint);
    if (isEventKept) await eventStore.save(all.event)(redis.client);
    await deliveryStore.enlistAll(buildNewDeliveries(all.event.id, [all.endpoint.id], all.event.acceptedAt))(
      redis.client,
    );
    await all.append(last);
    return {
      ...all,
      onThirdTry(act: () => Promise<unknown>) {
        jest.spyOn(deliveryQueue, 'addRequested').mockImplementation(async (deliveries) => {
          if (all.batches().length === 3) await act();
          await all.addRequested(deliveries);
        });
      },
    };
  }

  it('waits until the job of its last attempt has ended', async () => {
    const { addJob, onThirdTry, endJob, redeliver, batches, delivery } = await arrangeTried(exhausted);
    await addJob();
    onThirdTry(endJob);
    expect(await redeliver()).toMatchObject({ ...delivery, status: 'pending' });
    expect(batches()).toEqual([1, 1, 1]);
  });

  it('waits until the job of its last attempt has been put back', async () => {
    const { delayJob, lock, unlock, onThirdTry, redeliver, batches, delivery } = await arrangeTried(failed);
    await delayJob();
    await lock();
    onThirdTry(unlock);
    expect(await redeliver()).toMatchObject({ ...delivery, status: 'pending', nextAttemptAt: undefined });
    expect(batches()).toEqual([1, 1, 1]);
  });

  it('says that the record is full', async () => {
    const { redeliver, append } = await arrangeTried(exhausted);
    await append({ ...exhausted, attempt: longAttempt });
    await expect(redeliver()).rejects.toMatchObject({ code: 'limit_reached' });
  });

  it('says that the record has become full of one that is on its way', async () => {
    const { delayJob, parts, append, redeliver } = await arrangeTried(failed);
    await delayJob();
    jest.spyOn(parts.deliveryQueue, 'putBackFailed').mockImplementation(async () => {
      await append({ ...failed, attempt: longAttempt });
    });
    await expect(redeliver()).rejects.toMatchObject({ code: 'limit_reached' });
  });

  it('gives up in the end, so that who asked can ask again, while its job does not end', async () => {
    const { addJob, redeliver } = await arrangeTried(exhausted);
    await addJob();
    await expect(redeliver()).rejects.toMatchObject({ code: 'conflict' });
  });

  it('gives up in the end while its job is not put back', async () => {
    const { delayJob, lock, redeliver } = await arrangeTried(failed);
    await delayJob();
    await lock();
    await expect(redeliver()).rejects.toMatchObject({ code: 'conflict' });
  });

  it('sends nothing when its event is no longer kept, though what became of it is', async () => {
    const { redeliver, batches } = await arrangeTried(exhausted, { isEventKept: false });
    await expect(redeliver()).rejects.toMatchObject({ code: 'not_found' });
    expect(batches()).toEqual([]);
  });
});

describe('bring forward', () => {
  /** A delivery that is tried again in an hour, and the job that waits for that. */
  async function arrangeLater() {
    const all = await arrange();
    const { parts, delivery, event } = all;
    await parts.deliveryStore.enlistAll(
      buildNewDeliveries(delivery.eventId, [delivery.endpointId], event.acceptedAt),
    )(redis.client);
    await all.append(failed);
    await all.delayJob({});
    return {
      ...all,
      onPromote(act: () => Promise<unknown>) {
        const { deliveryQueue } = parts;
        const promote = deliveryQueue.promote.bind(deliveryQueue);
        jest.spyOn(deliveryQueue, 'promote').mockImplementation(async (...asked) => {
          await act();
          return await promote(...asked);
        });
      },
    };
  }

  it('puts the job at the end of its queue, and records that it is due', async () => {
    const { bringForward, read, jobState, signals } = await arrangeLater();
    expect(await bringForward('a')).toBe('soon');
    expect(await jobState()).toMatch(WAITS);
    expect(await read()).toMatchObject({ status: 'pending', nextAttemptAt: undefined, requestIds: ['a'] });
    expect(signals.named('delivery.requested')).toMatchObject([{ trigger: 'manual' }]);
  });

  it('is asked for once by many requests at once', async () => {
    const { bringForward, read, signals } = await arrangeLater();
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => bringForward(`r${i}`)));
    expect(new Set(results)).toEqual(new Set(['soon', 'on_its_way']));
    expect(results.filter((result) => result === 'soon')).toHaveLength(1);
    expect((await read()).requestIds).toHaveLength(1);
    expect(signals.named('delivery.requested')).toHaveLength(1);
  });

  it('leaves alone what waits on the queue already, and what has no job', async () => {
    const { bringForward, jobState, read, endJob } = await arrangeLater();
    await bringForward('a');
    expect(await bringForward('b')).toBe('on_its_way');
    expect(await jobState()).toMatch(WAITS);
    await endJob();
    expect(await bringForward('c')).toBe('on_its_way');
    expect(await read()).toMatchObject({ requestIds: ['a'] });
  });

  it('asks to wait when a worker has taken the job meanwhile, and thinks that it is not due', async () => {
    const { bringForward, lock, onPromote } = await arrangeLater();
    onPromote(lock);
    expect(await bringForward('a')).toBe('ending');
  });

  // The worker would put its job back until the time it has in mind.
  it('asks to wait while the job whose attempt has failed is about to be put back', async () => {
    const { bringForward, read, jobState, lock } = await arrangeLater();
    await lock();
    expect(await bringForward('a')).toBe('ending');
    expect(await read()).toMatchObject({ nextAttemptAt: LATER, requestIds: [] });
    expect(await jobState()).toBe('delayed');
  });

  it('leaves one alone whose log is full', async () => {
    const { bringForward, append, read, jobState } = await arrangeLater();
    await append({ kind: 'attempted', attempt: longAttempt, nextAttemptAt: LATER });
    expect(await bringForward('a')).toBe('full');
    expect(await read()).toMatchObject({ nextAttemptAt: LATER, requestIds: [] });
    expect(await jobState()).toBe('delayed');
  });

  it('brings the job forward that an interrupted request has only recorded', async () => {
    const { bringForward, append, jobState } = await arrangeLater();
    await append({ kind: 'requested', requestId: 'a', trigger: 'manual', requestedAt: NOW });
    expect(await bringForward('a')).toBe('soon');
    expect(await jobState()).toMatch(WAITS);
  });

  it('sends nothing a second time when the same request is worked on again', async () => {
    const { bringForward, append, read, jobState } = await arrangeLater();
    await append({ kind: 'requested', requestId: 'a', trigger: 'manual', requestedAt: NOW });
    await append(failed);
    expect(await bringForward('a')).toBe('soon');
    expect(await jobState()).toBe('delayed');
    expect(await read()).toMatchObject({ nextAttemptAt: LATER, requestIds: ['a'] });
  });
});

describe('bring all forward', () => {
  const overdue: DeliveryFact = { ...exhausted, nextAttemptAt: NOW - 1 };

  it('does not count one that ended meanwhile, and does not send it again', async () => {
    const { bringAllForward, append, read, batches } = await arrange();
    await append(overdue);
    await append({ ...exhausted, attempt: buildAcceptedAttempt({ number: 2 }) });
    expect(await bringAllForward('a')).toBe('on_its_way');
    expect(await read()).toMatchObject({ status: 'delivered', isOpen: false, requestIds: [] });
    expect(batches()).toEqual([]);
  });

  it('does not count one that was due already: it is held, or about to be sent', async () => {
    const { bringAllForward, append, read, delayJob } = await arrange();
    await append(overdue);
    await delayJob();
    expect(await bringAllForward('a')).toBe('on_its_way');
    expect(await read()).toMatchObject({ requestIds: [] });
  });

  it('keeps one that was due already from being discarded', async () => {
    const { bringAllForward, append, read, delayJob, endpoint, parts, signals } = await arrange();
    await parts.endpointStore.create({ ...endpoint, heldDiscard: { at: NOW - 1, isDone: false } });
    await append(overdue);
    await delayJob();
    expect(await bringAllForward('a')).toBe('on_its_way');
    expect(await read()).toMatchObject({ requestIds: ['a'], isOpen: true });
    expect(signals.named('delivery.requested')).toHaveLength(1);
  });

  it.each([
    ['was due already', overdue, 'on_its_way'],
    ['is due later', failed, 'requested'],
  ] as const)('puts a dead letter back whose record is open and %s', async (_when, fact, outcome) => {
    const { bringAllForward, append, addJob, failJob, jobState } = await arrange();
    await append(fact);
    await addJob();
    await failJob();
    expect(await bringAllForward('a')).toBe(outcome);
    expect(await jobState()).toMatch(WAITS);
  });
});

describe('bring many forward', () => {
  const MANY = 50;

  /** Deliveries of one endpoint that are tried again in an hour. */
  async function arrangeMany() {
    const { parts, endpoint, redelivery } = await arrange();
    const { id: endpointId, accountId } = endpoint;
    const client = redis.client;
    const jobs = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    const events = Array.from({ length: MANY }, () => buildEvent({ accountId }));
    for (const { id: eventId } of events) {
      const jobId = deliveryIdOf({ endpointId, eventId });
      await parts.deliveryStore.append({ endpointId, eventId }, failed);
      await jobs.add('d', { account_id: accountId }, { jobId, delay: 3_600_000 });
    }
    const requests = events.map(({ id: eventId, acceptedAt }) => ({
      accountId,
      endpointId,
      eventId,
      acceptedAt,
      trigger: 'replay' as const,
      requestId: 'rpl_1',
    }));
    return {
      jobs,
      bringAllForward: () => redelivery.bringAllForward(requests),
      /** How many commands Redis has run, those of scripts included. */
      async countCommands(act: () => Promise<unknown>): Promise<number> {
        await client.config('RESETSTAT');
        await act();
        const stats = await client.info('commandstats');
        const calls = [...stats.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)];
        return calls.reduce(
          (sum, [, name, count]) => sum + (/config|info/.test(name ?? '') ? 0 : Number(count)),
          0,
        );
      },
    };
  }

  it('takes few commands for each', async () => {
    const { jobs, bringAllForward, countCommands } = await arrangeMany();
    let outcomes: readonly unknown[] = [];
    const commands = await countCommands(async () => {
      outcomes = await bringAllForward();
    });
    expect(outcomes).toEqual(Array(MANY).fill('requested'));
    expect(await jobs.getJobCountByTypes('delayed')).toBe(0);
    // It was 49 before, one by one.
    expect(commands / MANY).toBeLessThan(16);
    expect((await countCommands(bringAllForward)) / MANY).toBeLessThan(5);
  });

  // The run of its lane would find that the first one is not due, and put it off again.
  it('brings the first one of a request in strict order forward together with any other of it', async () => {
    const { parts, endpoint, redelivery, runningBatches, runningJobs } = await arrange();
    const { id: endpointId, accountId } = endpoint;
    const events = [0, 1].map((i) => ({ eventId: uniqueEventId(), acceptedAt: NOW + i }));
    const [head, other] = events;
    if (!head || !other) throw new Error('There are two.');
    const inLane = { accountId, endpointId, isInLane: true, isInBatches: false };
    await parts.deliveryQueue.addAll(events.map((event) => ({ ...inLane, ...event })));
    for (const { eventId } of events) await parts.deliveryStore.append({ endpointId, eventId }, failed);
    const { job } = await runningJobs.take('mine')(redis.client);
    if (!job) throw new Error('Nothing waits.');
    const lane = { accountId, endpointId, lane: laneNameOf(endpointId), token: job.token, wasHeld: false };
    await runningBatches.beginHeads(lane, { most: 2, maxBytes: 1_000_000 })(redis.client);
    const left = { events: [head.eventId, other.eventId], delayMs: 60_000, failure: 'http_5xx' };
    await runningBatches.endHeads(lane, [], left)(redis.client);
    const request = { accountId, endpointId, ...other, trigger: 'manual', requestId: 'a' } as const;
    expect(await redelivery.bringForward(request)).toBe('soon');
    const { state } = await parts.deliveryStore.readWithLength(endpointId, head.eventId);
    expect(state).toMatchObject({ nextAttemptAt: undefined, requestIds: ['a'] });
    const { job: next } = await runningJobs.take('theirs')(redis.client);
    expect(next?.head).toMatchObject({ eventId: head.eventId });
  });
});

describe('request', () => {
  it('opens a delivery that has ended, and puts it on the queue', async () => {
    const { request, append, read, jobState, signals } = await arrange();
    await append(exhausted);
    expect(await request('a')).toBe('requested');
    expect(await read()).toMatchObject({ status: 'pending', isOpen: true, requestIds: ['a'] });
    expect(await jobState()).toMatch(WAITS);
    expect(signals.named('delivery.requested')).toMatchObject([{ trigger: 'manual' }]);
  });

  it('makes a delivery of an event that the endpoint has not had', async () => {
    const { request, read, jobState, isListed, receivers, delivery } = await arrange();
    expect(await request('a')).toBe('requested');
    expect(await read()).toMatchObject({ status: 'pending', attempts: [] });
    expect(await jobState()).toMatch(WAITS);
    expect(await isListed()).toBe(true);
    expect(await receivers()).toEqual([delivery.endpointId]);
  });

  it('leaves alone what is on the queue already', async () => {
    const { request, append, read } = await arrange();
    await append(exhausted);
    await request('a');
    expect(await request('b')).toBe('on_its_way');
    expect(await read()).toMatchObject({ requestIds: ['a'] });
  });

  it('leaves alone what is delayed: it is held, or tried again later', async () => {
    const { request, read, delayJob, jobState } = await arrange();
    await delayJob();
    expect(await request('a')).toBe('on_its_way');
    expect(await jobState()).toBe('delayed');
    expect(await read()).toMatchObject({ requestIds: [] });
  });

  it('sends nothing more whose log is full, but knows its recorded request', async () => {
    const { request, append, read, jobState } = await arrange();
    await append({ kind: 'requested', requestId: 'a', trigger: 'manual', requestedAt: 0 });
    const attempt = buildAttempt({ responseBody: 'x'.repeat(FULL_LOG_BYTES) });
    await append({ kind: 'attempted', attempt, nextAttemptAt: 1 });
    expect(await request('b')).toBe('full');
    expect(await request('a')).toBe('requested');
    expect(await jobState()).toBe('unknown');
    expect(await read()).toMatchObject({ requestIds: ['a'] });
  });

  it('does not send one whose last job is about to end', async () => {
    const { request, append, read, addJob } = await arrange();
    await append(exhausted);
    await addJob();
    expect(await request('a')).toBe('ending');
    expect(await read()).toMatchObject({ status: 'exhausted', requestIds: [] });
  });

  it('does not send one whose last job has ended just now, before it could be told whose it was', async () => {
    const { parts, request, append, endJob, read } = await arrange();
    await append(exhausted);
    const requestOf = parts.deliveryQueue.requestOf.bind(parts.deliveryQueue);
    jest.spyOn(parts.deliveryQueue, 'requestOf').mockImplementation(async (ids) => {
      await endJob();
      return await requestOf(ids);
    });
    expect(await request('a')).toBe('ending');
    expect(await read()).toMatchObject({ status: 'exhausted', requestIds: [] });
  });

  it('does not send one that lapses, as its log gets nothing any more, and does not try that again and again', async () => {
    const { request, append, read, endpoint, delivery } = await arrange();
    await append(exhausted);
    await redis.client.set(keys.lapsing(endpoint.id, delivery.eventId), '');
    expect(await request('a')).toBe('ending');
    expect(await read()).toMatchObject({ status: 'exhausted', requestIds: [] });
  });

  it('sees to it that a job which has failed for good runs again', async () => {
    const { request, addJob, failJob, jobState } = await arrange();
    await addJob();
    await failJob();
    expect(await request('a')).toBe('on_its_way');
    expect(await jobState()).toMatch(WAITS);
  });

  describe('a request that breaks off', () => {
    it('has its job before the record says that the delivery is open', async () => {
      const { parts, request, append, read, jobState } = await arrange();
      await append(exhausted);
      jest.spyOn(parts.deliveryStore, 'appendIfUnchanged').mockRejectedValueOnce(new Error('killed'));
      await expect(request('a')).rejects.toThrow('killed');
      expect(await read()).toMatchObject({ isOpen: false });
      expect(await jobState()).toMatch(WAITS);
    });

    it('leaves nothing open without a job when the job could not be added', async () => {
      const { parts, request, append, read, isListed } = await arrange();
      await append(exhausted);
      jest.spyOn(parts.deliveryQueue, 'addRequested').mockRejectedValueOnce(new Error('killed'));
      await expect(request('a')).rejects.toThrow('killed');
      expect(await read()).toMatchObject({ isOpen: false });
      expect(await isListed()).toBe(false);
    });

    it('is carried out by the same job when it is repeated', async () => {
      const { parts, append, read, request, batches, jobState } = await arrange();
      await append(exhausted);
      jest.spyOn(parts.deliveryStore, 'appendIfUnchanged').mockRejectedValueOnce(new Error('killed'));
      await expect(request('a')).rejects.toThrow('killed');
      expect(await request('a')).toBe('requested');
      expect(await read()).toMatchObject({ isOpen: true, requestIds: ['a'] });
      expect(batches()).toEqual([1, 1]);
      expect(await jobState()).toMatch(WAITS);
    });
  });

  it('announces a request that its job has recorded, and finished, before it could do so itself', async () => {
    const { parts, addRequested, request, append, endJob, read, isListed } = await arrange();
    await append(exhausted);
    jest.spyOn(parts.deliveryQueue, 'addRequested').mockImplementation(async (all) => {
      await addRequested(all);
      await append({ kind: 'requested', requestId: 'a', trigger: 'manual', requestedAt: 0 });
      await append(exhausted);
      await endJob();
    });
    expect(await request('a')).toBe('requested');
    expect(await read()).toMatchObject({ isOpen: false, requestIds: ['a'] });
    expect(await isListed()).toBe(true);
  });

  it('sends nothing a second time when the same request is worked on again', async () => {
    const { request, append, endJob, jobState, signals } = await arrange();
    await append(exhausted);
    await request('a');
    await endJob();
    await append(exhausted);
    expect(await request('a')).toBe('requested');
    expect(await jobState()).toBe('unknown');
    expect(signals.named('delivery.requested')).toHaveLength(1);
  });

  it('makes one job for many requests at once, and records one of them', async () => {
    const { request, append, read, countJobs } = await arrange();
    await append(exhausted);
    const results = await Promise.all(Array.from({ length: 20 }, (_, i) => request(`r${i}`)));
    expect(results.filter((result) => result === 'requested')).toHaveLength(1);
    expect(await countJobs()).toBe(1);
    expect((await read()).requestIds).toHaveLength(1);
  });

  it('puts many onto the queue as one batch, where present ones stay as they are', async () => {
    const { request, requestWith, append, read, batches, countJobs } = await arrange();
    await append(exhausted);
    await request('a');
    expect(await requestWith(3, 'b')).toEqual(['on_its_way', 'requested', 'requested', 'requested']);
    expect(batches()).toEqual([1, 4]);
    expect(await countJobs()).toBe(4);
    expect(await read()).toMatchObject({ requestIds: ['a'] });
  });
});

describe('a request for a delivery that is on its way', () => {
  const disabled = { status: 'disabled', disabledReason: 'client' } as const;
  it.each<[string, Parameters<typeof buildEndpoint>[0], number]>([
    ['whose held deliveries are being discarded', { heldDiscard: { at: NOW - 1, isDone: false } }, NOW],
    ['that is disabled and discards', { ...disabled, whileDisabled: 'discard' }, NOW],
  ])('is recorded at an endpoint %s: it would end with what is discarded', async (_which, change, at) => {
    const { request, addJob, endpoint, parts, read, signals } = await arrange();
    await parts.endpointStore.create({ ...endpoint, ...change });
    await addJob();
    expect(await request('rdl_1')).toBe('on_its_way');
    expect(await read()).toMatchObject({ requestIds: ['rdl_1'], lastRequestedAt: at, isOpen: true });
    expect(signals.named('delivery.requested')).toHaveLength(1);
    await request('rdl_1');
    expect(await read()).toMatchObject({ requestIds: ['rdl_1'] });
  });

  it.each<[string, Parameters<typeof buildEndpoint>[0]]>([
    ['discards nothing', {}],
    ['holds while it is disabled', disabled],
  ])('is not recorded at an endpoint that %s', async (_which, change) => {
    const { request, addJob, endpoint, parts, read } = await arrange();
    await parts.endpointStore.create({ ...endpoint, ...change });
    await addJob();
    expect(await request('rdl_1')).toBe('on_its_way');
    expect(await read()).toMatchObject({ requestIds: [] });
  });

  it('opens a new round if it has been discarded in that moment', async () => {
    const { request, delayJob, endJob, endpoint, parts, append, read } = await arrange();
    await parts.endpointStore.create({ ...endpoint, heldDiscard: { at: NOW - 1, isDone: false } });
    await delayJob();
    jest.spyOn(parts.deliveryQueue, 'putBackFailed').mockImplementationOnce(async () => {
      await append({ kind: 'cancelled', reason: 'discarded' });
    });
    expect(await request('rdl_1')).toBe('ending');
    await endJob();
    expect(await request('rdl_1')).toBe('requested');
    expect(await read()).toMatchObject({ isOpen: true, round: { number: 2 } });
  });
});
