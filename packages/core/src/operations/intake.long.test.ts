import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { keywordQuickWin } from '../accounts/event-types/built-in';
import type { OpenAccounts } from '../accounts/open-accounts';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { DELIVERIES_QUEUE } from '../domain/queues';
import { MovedIds } from '../events/redis-moved-ids';
import { erasePayload } from '../history/database/pg-erase';
import { PgIntake } from '../history/database/pg-intake';
import { AppError } from '../platform/app-error';
import { createNewId } from '../platform/ids';
import { nameRedisError } from '../platform/redis-errors';
import { Intake, type IntakeTable } from '../publish/intake';
import { type PublishedEvent, Publishing } from '../publish/publishing';
import { ScheduledEvents } from '../publish/scheduled-events';
import { SCHEDULED_JOB_VERSION } from '../queue/bullmq-event-queue';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildMovedDelivery, buildMovedEvent } from '../testing/build-moved-event';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { openPublishingParts } from '../testing/open-publishing-parts';
import { hasPostgres, NO_POSTGRES } from '../testing/postgres-server';
import { recordSignals } from '../testing/record-signals';
import { startRedisServer } from '../testing/redis-server';
import { openTestHistory, type TestHistory } from '../testing/test-history';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEventId } from '../testing/unique-ids';
import { withMethods } from '../testing/with-methods';
import type { PayloadErasure } from './erase-payload';
import { IntakeSweeper } from './intake-sweeper';

if (!hasPostgres) console.warn(`SKIPPED: INTAKE=durable, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const NOW = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const RETENTION_MS = 14 * DAY_MS;
const { name: type, example: data } = keywordQuickWin;
const otherData = { ...data, keyword: 'other' };

describePostgres('events that PostgreSQL keeps before they are accepted', () => {
  let history: TestHistory;
  const { willClose, closeAll } = createClosables();
  beforeAll(async () => {
    history = await openTestHistory();
  });
  beforeEach(async () => {
    await history.server.query('DELETE FROM webhook_intake');
    await history.server.query(
      `UPDATE webhook_intake_check SET checked_until = '-infinity', leased_until = '-infinity', again_until = '-infinity'`,
    );
  });
  afterEach(async () => {
    await closeAll();
    // After a test that stopped it.
    await history.server.thaw();
    await history.server.start();
  });
  afterAll(() => history.close());

  /** An account with some webhooks, in an empty Redis. */
  async function arrange({ webhooks = 2, url }: { readonly webhooks?: number; readonly url?: string } = {}) {
    const redis = willClose(await openTestRedis(url));
    const { client } = redis;
    const accountId = uniqueAccountId();
    const parts = openPublishingParts(client);
    const endpoints = Array.from({ length: webhooks }, () => buildEndpoint({ accountId }));
    const register = async (some = endpoints) => {
      for (const endpoint of some) await parts.endpointStore.create(endpoint);
    };
    await register();
    const signals = recordSignals();
    const pgIntake = new PgIntake(history.database);
    const open = (table: IntakeTable, by: Redis = client, now = NOW) => {
      const own = openPublishingParts(by);
      const intake = new Intake(table, signals.listen, () => performance.now());
      const movedIds = new MovedIds(by, RETENTION_MS);
      const publishingParts = { ...own, movedIds, intake, clock: () => now, emit: signals.listen };
      return new Publishing(publishingParts, new ScheduledEvents(publishingParts));
    };
    const accept = async (
      change: Partial<PublishedEvent> = {},
      { by = open(pgIntake), at = NOW }: { readonly by?: Publishing; readonly at?: number } = {},
    ) => {
      const request = {
        apiKey: { accountId },
        requestId: 'req_1',
        receivedAt: at,
        newId: createNewId(() => NOW),
      };
      const event = { type, data, dataText: JSON.stringify(data), ...change };
      const [outcome] = await by.accept(request, [event]);
      if (outcome === undefined || outcome instanceof AppError) throw outcome;
      return outcome;
    };
    const erased: EventId[] = [];
    const sweeper = (now = NOW, by = open(pgIntake)) =>
      new IntakeSweeper({
        ...parts,
        pgIntake,
        redis: client,
        openAccounts: fake<OpenAccounts>({ find: async () => ({ historyDays: undefined }) }),
        publishing: by,
        payloadErasure: fake<PayloadErasure>({
          erase: async (_account: string, id: EventId) => void erased.push(id),
        }),
        retention: { ageMs: RETENTION_MS },
        clock: () => now,
        emit: signals.listen,
      });
    const deliveries = willClose(new Queue(DELIVERIES_QUEUE, { connection: client }));
    return {
      client,
      accountId,
      endpoints,
      register,
      pgIntake,
      open,
      accept,
      sweeper,
      erased,
      signals,
      scheduled: async () => await parts.scheduledQueue.list(accountId, 10),
      rows: async () =>
        await history.server.query<{ event_id: string; webhook_ids: EndpointId[] | null }>(
          'SELECT * FROM webhook_intake',
        ),
      jobCount: async () => await deliveries.count(),
    };
  }

  /** As if those that are there had been kept for so long. */
  const letPass = async (interval: string) => {
    await history.server.query(
      `UPDATE webhook_intake_check SET again_until = again_until - interval '${interval}'`,
    );
    await history.server.query(
      `UPDATE webhook_intake SET kept_at = kept_at - interval '${interval}', owed_since = owed_since - interval '${interval}'`,
    );
  };
  const moved = (
    event: { accountId: string; id: string; body: string },
    endpointIds: readonly EndpointId[],
  ) =>
    buildMovedEvent({
      accountId: event.accountId as never,
      id: event.id as never,
      createdAt: NOW,
      head: { type, isAimed: false },
      dataText: JSON.stringify(data),
      deliveries: endpointIds.map((id) => buildMovedDelivery(id)),
    });

  describe('a request', () => {
    it('has its events in both stores, with their receivers', async () => {
      const { accept, rows, jobCount, endpoints } = await arrange();
      const { event, isNew } = await accept();
      expect(isNew).toBe(true);
      expect(await rows()).toMatchObject([
        { event_id: event.id, webhook_ids: expect.arrayContaining(endpoints.map(({ id }) => id)) },
      ]);
      expect(await jobCount()).toBe(2);
    });

    it('is refused while PostgreSQL is away, sends nothing, and can be repeated', async () => {
      const { accept, jobCount, signals, rows } = await arrange();
      const id = uniqueEventId();
      await history.server.stop();
      await expect(accept({ id })).rejects.toMatchObject({ code: 'history_unavailable' });
      expect(signals.named('intake.committed')).toMatchObject([{ result: 'failed', events: 1 }]);
      expect(await jobCount()).toBe(0);
      await history.server.start();
      expect(await accept({ id })).toMatchObject({ isNew: true });
      expect([await jobCount(), (await rows()).length]).toEqual([2, 1]);
    });

    it('is refused when PostgreSQL does not answer in time, and sends nothing', async () => {
      const { accept, jobCount } = await arrange();
      await history.server.freeze();
      await expect(accept()).rejects.toMatchObject({ code: 'history_unavailable' });
      expect(await jobCount()).toBe(0);
      // If it went on, it would store the event after all: in the midst of the next test.
      await history.server.crash();
    });

    it('fails, and is not kept, when Redis refuses it afterwards', async () => {
      const server = willClose(await startRedisServer());
      const { accept, open, pgIntake, rows } = await arrange({ url: server.url });
      const filling = withMethods<IntakeTable>(pgIntake, {
        add: async (...args: Parameters<IntakeTable['add']>) => {
          const results = await pgIntake.add(...args);
          await server.fillUp();
          return results;
        },
      });
      const failure = await accept({}, { by: open(filling) }).catch(nameRedisError);
      expect(failure).toMatchObject({ code: 'storage_unavailable' });
      expect(await rows()).toEqual([]);
      await server.makeRoom();
    });

    it('is accepted when Redis goes away after PostgreSQL has it, and is sent when Redis is back', async () => {
      const { accept, client, open, pgIntake, jobCount, sweeper, signals } = await arrange();
      const { host, port, db } = client.options;
      const dying = new Redis({ host: host ?? '', port: port ?? 0, db: db ?? 0, maxRetriesPerRequest: 0 });
      const table = withMethods<IntakeTable>(pgIntake, {
        add: async (...args: Parameters<IntakeTable['add']>) => {
          const results = await pgIntake.add(...args);
          dying.disconnect();
          return results;
        },
      });
      const id = uniqueEventId();
      expect(await accept({ id }, { by: open(table, dying) })).toMatchObject({ isNew: true });
      expect(signals.named('intake.left')).toMatchObject([{ count: 1 }]);
      expect(await jobCount()).toBe(0);
      await letPass('2 minutes');
      expect(await sweeper().runOnce()).toBe(0);
      expect(await jobCount()).toBe(2);
      expect(await accept({ id })).toMatchObject({ isNew: false });
      expect(await jobCount()).toBe(2);
    });

    it('goes together with others of its turn', async () => {
      const { accept, open, pgIntake } = await arrange();
      let commits = 0;
      const counting = withMethods<IntakeTable>(pgIntake, {
        add: async (...args: Parameters<IntakeTable['add']>) => {
          commits += 1;
          return await pgIntake.add(...args);
        },
      });
      const by = open(counting);
      await Promise.all(Array.from({ length: 50 }, () => accept({}, { by })));
      expect(commits).toBeLessThan(20);
    });
  });

  describe('once Redis has lost everything', () => {
    it('are sent, each once, to those that had not got them', async () => {
      const { accept, client, register, endpoints, sweeper, jobCount, signals } = await arrange();
      const { event: open } = await accept();
      const { event: half } = await accept();
      const { event: over } = await accept();
      const [first, second] = endpoints.map(({ id }) => id) as [EndpointId, EndpointId];
      await history.write([moved(half, [first]), moved(over, [first, second])]);
      await client.flushdb();
      await register();
      await letPass('2 minutes');
      expect(await sweeper().runOnce()).toBe(0);
      expect(await jobCount()).toBe(3);
      expect(await client.zrange(keys.receivers(half.accountId, half.id), 0, '-1')).toEqual([second]);
      expect(await client.exists(keys.event(open.accountId, open.id))).toBe(1);
      expect(await client.exists(keys.event(over.accountId, over.id))).toBe(0);
      expect(signals.named('intake.sent_again')).toEqual([{ name: 'intake.sent_again', count: 2 }]);
      expect(await sweeper().runOnce()).toBe(0);
      expect(await jobCount()).toBe(3);
    });

    it('are looked for again only from the time on to which it went back', async () => {
      const { accept, client, register, sweeper, jobCount } = await arrange({ webhooks: 1 });
      await accept();
      await letPass('2 hours');
      await accept();
      await letPass('2 minutes');
      const running = sweeper();
      await running.runOnce();
      await client.flushdb();
      await register();
      await running.runOnce();
      expect(await jobCount()).toBe(0);
      await running.compareAgain({ since: Date.now() - 600_000 });
      await running.runOnce();
      expect(await jobCount()).toBe(0);
      await letPass('2 minutes');
      await running.runOnce();
      expect(await jobCount()).toBe(1);
      await running.compareAgain({ since: undefined });
      await letPass('2 minutes');
      await running.runOnce();
      expect(await jobCount()).toBe(2);
      await running.stop();
    });

    it('wait for their webhooks, which may be lost as well', async () => {
      const { accept, client, register, endpoints, sweeper, jobCount, pgIntake } = await arrange();
      await accept();
      await client.flushdb();
      await letPass('2 minutes');
      expect(await sweeper().runOnce()).toBe(1);
      expect(await pgIntake.countOwed()).toBe(1);
      await register(endpoints.slice(0, 1));
      expect(await sweeper().runOnce()).toBe(1);
      await register(endpoints.slice(1));
      expect(await sweeper().runOnce()).toBe(0);
      expect([await jobCount(), await pgIntake.countOwed()]).toEqual([2, 0]);
    });

    it('go to those webhooks that are back after ten minutes, and are given up after a day', async () => {
      const { accept, client, register, endpoints, sweeper, jobCount, signals, pgIntake } = await arrange();
      await accept();
      await client.flushdb();
      await letPass('2 minutes');
      expect(await sweeper().runOnce()).toBe(1);
      await register(endpoints.slice(0, 1));
      // By the clock of this test.
      await history.server.query(
        `UPDATE webhook_intake SET owed_since = to_timestamp(${NOW / 1_000}) - interval '11 minutes'`,
      );
      expect(await sweeper().runOnce()).toBe(0);
      expect([await jobCount(), await pgIntake.countOwed()]).toEqual([1, 0]);
      expect(signals.named('intake.given_up')).toMatchObject([{ reason: 'no_webhook' }]);
    });

    it('are not sent when they are older than half of RETENTION', async () => {
      const { accept, client, register, sweeper, jobCount, signals } = await arrange();
      await accept();
      await client.flushdb();
      await register();
      await letPass('2 minutes');
      expect(await sweeper(NOW + RETENTION_MS / 2 + 1).runOnce()).toBe(0);
      expect(await jobCount()).toBe(0);
      expect(signals.named('intake.given_up')).toMatchObject([{ reason: 'too_old' }]);
    });

    it('are erased when they were erased meanwhile', async () => {
      const { accept, client, register, sweeper, open, pgIntake, erased, jobCount } = await arrange();
      const { event } = await accept();
      const { event: later } = await accept();
      await client.flushdb();
      await register();
      expect(await erasePayload(history.database, event.accountId, event.id, NOW)).toBeDefined();
      expect(
        await history.server.query(`SELECT FROM webhook_intake WHERE event LIKE '%"data"%'`),
      ).toHaveLength(1);
      await letPass('2 minutes');
      const publishing = open(pgIntake);
      const slow = withMethods(publishing, {
        sendAgain: async (...args: Parameters<Publishing['sendAgain']>) => {
          await erasePayload(history.database, later.accountId, later.id, NOW);
          return await publishing.sendAgain(...args);
        },
      });
      await sweeper(NOW, slow).runOnce();
      expect(erased).toEqual([later.id]);
      expect(await jobCount()).toBe(2);
    });

    it('keep their ids: the same event is known, another one is refused', async () => {
      const { accept, client, register, jobCount, endpoints } = await arrange();
      const id = uniqueEventId();
      const { event } = await accept({ id });
      await history.write([
        moved(
          event,
          endpoints.map((endpoint) => endpoint.id),
        ),
      ]);
      await client.flushdb();
      await register();
      expect(await accept({ id }, { at: NOW + 5_000 })).toMatchObject({
        isNew: false,
        event: { acceptedAt: NOW },
      });
      const other = { id, data: otherData, dataText: JSON.stringify(otherData) };
      await client.flushdb();
      await expect(accept(other, { at: NOW + 6_000 })).rejects.toMatchObject({ code: 'event_id_conflict' });
      expect(await jobCount()).toBe(0);
    });

    it('wait for their time, if they were scheduled', async () => {
      const { accept, client, register, sweeper, scheduled } = await arrange();
      const { event } = await accept({ deliverAt: NOW + 3_600_000 });
      await client.flushdb();
      await register();
      await letPass('2 minutes');
      expect(await sweeper().runOnce()).toBe(0);
      expect(await scheduled()).toMatchObject([{ eventId: event.id, deliverAt: NOW + 3_600_000 }]);
    });
  });

  describe('scheduled events of certain webhooks', () => {
    const deliverAt = NOW + 3_600_000;

    async function arrangeAimed(at: number) {
      const scene = await arrange({ webhooks: 3 });
      const [first, second] = scene.endpoints.map(({ id }) => id) as [EndpointId, EndpointId];
      const { event } = await scene.accept({ deliverAt, endpointRefs: [first, second] });
      const by = scene.open(scene.pgIntake, scene.client, at);
      const loseAndSweep = async () => {
        await scene.client.flushdb();
        await scene.register();
        await letPass('2 minutes');
        expect(await scene.sweeper(at, by).runOnce()).toBe(0);
      };
      const receivers = async () =>
        await scene.client.zrange(keys.receivers(event.accountId, event.id), 0, '-1');
      const take = async () =>
        await by.take({
          id: event.id,
          name: type,
          timestamp: NOW,
          data: { account_id: event.accountId, id: event.id, due_at: deliverAt, v: SCHEDULED_JOB_VERSION },
        });
      return { ...scene, event, first, second, loseAndSweep, receivers, take };
    }

    it('go to these alone when they are due, once Redis has lost them', async () => {
      const { first, second, loseAndSweep, receivers, take, jobCount, scheduled } = await arrangeAimed(NOW);
      await loseAndSweep();
      expect([await jobCount(), (await scheduled()).length]).toEqual([0, 1]);
      await take();
      expect(await receivers()).toEqual([first, second].sort());
      expect(await jobCount()).toBe(2);
    });

    it('go at once to those that have not got them, if they were due', async () => {
      const { event, first, second, loseAndSweep, receivers, jobCount, scheduled, client } =
        await arrangeAimed(deliverAt + 60_000);
      await history.write([{ ...moved(event, [first]), createdAt: deliverAt }]);
      await loseAndSweep();
      expect(await receivers()).toEqual([second]);
      expect([await jobCount(), await scheduled()]).toEqual([1, []]);
      expect(await client.get(keys.event(event.accountId, event.id))).toMatch(
        new RegExp(`^{"state":"due","at":${deliverAt},"type":"[a-z._]+","aimed":true`),
      );
    });

    it('are not sent when they were cancelled', async () => {
      const { event, loseAndSweep, jobCount, scheduled, rows } = await arrangeAimed(NOW);
      const schedule = { state: 'cancelled', publishedAt: NOW, deliverAt } as const;
      await history.write([
        { ...moved(event, []), createdAt: NOW + 1_000, head: { type, isAimed: true, schedule } },
      ]);
      await loseAndSweep();
      expect([await jobCount(), await scheduled()]).toEqual([0, []]);
      expect(await rows()).toHaveLength(1);
    });

    it('are over when all have got them at another time', async () => {
      const { event, first, second, loseAndSweep, jobCount, scheduled } = await arrangeAimed(NOW);
      await history.write([{ ...moved(event, [first, second]), createdAt: deliverAt + 60_000 }]);
      await loseAndSweep();
      expect([await jobCount(), await scheduled()]).toEqual([0, []]);
    });
  });

  it('are not sent when they are erased while others are sent', async () => {
    const { accept, client, register, sweeper, open, pgIntake, jobCount, accountId } = await arrange({
      webhooks: 1,
    });
    const ids: EventId[] = [];
    for (let i = 0; i < 51; i += 1) ids.push((await accept()).event.id);
    await client.flushdb();
    await register();
    await letPass('2 minutes');
    const publishing = open(pgIntake);
    const sent = new Set<EventId>();
    const erasing = withMethods(publishing, {
      sendAgain: async (...args: Parameters<Publishing['sendAgain']>) => {
        sent.add(args[0].id);
        if (sent.size === 50) {
          for (const id of ids.filter((one) => !sent.has(one))) {
            await erasePayload(history.database, accountId, id, NOW);
          }
        }
        return await publishing.sendAgain(...args);
      },
    });
    expect(await sweeper(NOW, erasing).runOnce()).toBe(0);
    expect([sent.size, await jobCount()]).toEqual([50, 50]);
  });

  it('are sent although a mover has noted them as moved in the Redis that took over, which never had them', async () => {
    const { accept, client, register, endpoints, sweeper, jobCount } = await arrange();
    const { event } = await accept();
    const { accountId, id: eventId } = event;
    await history.write([moved(event, [endpoints[0]?.id as EndpointId])]);
    await client.flushdb();
    await register();
    const kept = {
      accountId,
      eventId,
      acceptedAt: NOW,
      movedId: { kind: 'claimed', digest: undefined },
    } as const;
    await new MovedIds(client, RETENTION_MS).keep(kept, NOW)(client);
    await letPass('2 minutes');
    expect(await sweeper().runOnce()).toBe(0);
    expect(await jobCount()).toBe(1);
  });

  it('are compared anew once they were sent again, so that Redis may go back twice', async () => {
    const { accept, client, register, sweeper, jobCount } = await arrange({ webhooks: 1 });
    await accept();
    await letPass('2 hours');
    await client.flushdb();
    await register();
    const running = sweeper();
    await running.runOnce();
    expect(await jobCount()).toBe(1);
    await client.flushdb();
    await register();
    await running.compareAgain({ since: Date.now() - 60_000 });
    await letPass('2 minutes');
    await running.runOnce();
    expect(await jobCount()).toBe(1);
    await running.stop();
  });

  it('are open for each webhook that a worker has found, also when others have got them', async () => {
    const { accept, client, register, endpoints, sweeper, jobCount, open, pgIntake, rows } = await arrange({
      webhooks: 33,
    });
    const { event } = await accept();
    // As the worker does.
    await open(pgIntake).sendAgain(event, undefined, true);
    await letPass('2 minutes');
    await sweeper().runOnce();
    expect((await rows())[0]?.webhook_ids).toHaveLength(33);
    await history.write([moved(event, [endpoints[0]?.id as EndpointId])]);
    await client.flushdb();
    await register();
    await history.server.query(`UPDATE webhook_intake_check SET checked_until = '-infinity'`);
    expect(await sweeper().runOnce()).toBe(0);
    expect(await jobCount()).toBe(32);
  });

  it('are not taken for lost while they wait for a worker that finds their receivers', async () => {
    const { accept, sweeper, jobCount, signals, client } = await arrange({ webhooks: 33 });
    const { event } = await accept();
    await letPass('2 minutes');
    expect(await sweeper().runOnce()).toBe(0);
    expect([await jobCount(), await client.exists(keys.event(event.accountId, event.id))]).toEqual([0, 0]);
    expect(signals.named('intake.sent_again')).toEqual([]);
  });

  it('are removed a day after, once they have ended everywhere', async () => {
    const { accept, sweeper, endpoints, rows } = await arrange({ webhooks: 1 });
    const { event: over } = await accept();
    const { event: open } = await accept();
    await history.write([
      moved(
        over,
        endpoints.map(({ id }) => id),
      ),
    ]);
    await letPass('23 hours');
    await sweeper().runOnce();
    expect(await rows()).toHaveLength(2);
    await letPass('2 hours');
    await sweeper().runOnce();
    expect(await rows()).toMatchObject([{ event_id: open.id }]);
    await letPass('20 days');
    await history.server.query(`UPDATE webhook_intake SET accepted_at = kept_at`);
    await sweeper().runOnce();
    expect(await rows()).toEqual([]);
  });

  it('are compared by one worker at a time', async () => {
    const { pgIntake } = await arrange();
    expect(await pgIntake.lease()).toBe('-infinity');
    expect(await pgIntake.lease()).toBeUndefined();
    await pgIntake.release();
    expect(await pgIntake.lease()).toBe('-infinity');
  });

  it('are apart from those of other accounts', async () => {
    const one = await arrange();
    const other = await arrange();
    const id = uniqueEventId();
    expect([await one.accept({ id }), await other.accept({ id })]).toMatchObject([
      { isNew: true },
      { isNew: true },
    ]);
  });
});
