import { Cluster, Redis } from 'ioredis';
import { keywordQuickWin } from '../accounts/event-types/built-in';
import type { OpenAccounts } from '../accounts/open-accounts';
import type { AcceptedEvent } from '../domain/event';
import { keys } from '../domain/keys';
import { PgIntake } from '../history/database/pg-intake';
import { AppError } from '../platform/app-error';
import { createNewId } from '../platform/ids';
import { Intake } from '../publish/intake';
import { Publishing } from '../publish/publishing';
import { ScheduledEvents } from '../publish/scheduled-events';
import { type EventJob, SCHEDULED_JOB_VERSION } from '../queue/bullmq-event-queue';
import { buildEndpoint } from '../testing/build-endpoint';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { findClosedPort } from '../testing/local-server';
import { DELIVERED } from '../testing/moving-scene';
import { openPublishingParts } from '../testing/open-publishing-parts';
import { hasPostgres, NO_POSTGRES } from '../testing/postgres-server';
import { formRedisCluster } from '../testing/redis-cluster';
import { startRedisServer } from '../testing/redis-server';
import { openTestHistory, type TestHistory } from '../testing/test-history';
import { uniqueAccountId } from '../testing/unique-ids';
import type { PayloadErasure } from './erase-payload';
import { IntakeSweeper } from './intake-sweeper';

if (!hasPostgres) console.warn(`SKIPPED: a node of a Cluster that lost its data, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

const { name: type, example: data } = keywordQuickWin;
const NODES = 3;
const EVENTS = 12;
const WEBHOOKS = 6;

describePostgres('with INTAKE=durable, a Cluster of which one node has lost its data', () => {
  let history: TestHistory;
  let servers: readonly Redis[];
  let cluster: Cluster;
  const { willClose, closeAll } = createClosables();

  beforeAll(async () => {
    history = await openTestHistory();
    const busPorts = await Promise.all(Array.from({ length: NODES }, () => findClosedPort()));
    const started = await Promise.all(
      busPorts.map((port) => startRedisServer(['--cluster-enabled', 'yes', '--cluster-port', String(port)])),
    );
    for (const server of started) willClose(server);
    const ports = started.map(({ url }) => Number(new URL(url).port));
    await formRedisCluster(ports, busPorts);
    servers = ports.map((port) => {
      const client = new Redis(port, '127.0.0.1');
      return willClose({ close: () => client.disconnect(), client }).client;
    });
    const made = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })));
    cluster = willClose({ close: () => made.disconnect(), made }).made;
  });
  afterAll(async () => {
    await closeAll();
    await history.close();
  });
  beforeEach(async () => {
    for (const server of servers) await server.flushall();
    await history.server.query('DELETE FROM webhook_intake');
    await history.server.query(
      `UPDATE webhook_intake_check SET checked_until = '-infinity', leased_until = '-infinity', again_until = '-infinity'`,
    );
  });

  /** Events that were compared once. */
  async function arrange() {
    const accountId = uniqueAccountId();
    const now = Date.now();
    const pgIntake = new PgIntake(history.database);
    const opened = openPublishingParts(cluster);
    const { emit, signals, deliveryStore, endpointStore } = opened;
    const intake = new Intake(pgIntake, emit, () => performance.now());
    const parts = { ...opened, intake, clock: () => now };
    const publishing = new Publishing(parts, new ScheduledEvents(parts));
    const endpoints = Array.from({ length: WEBHOOKS }, () => buildEndpoint({ accountId }));
    const register = async () => {
      for (const endpoint of endpoints) {
        if (!(await endpointStore.find(accountId, endpoint.id))) await endpointStore.create(endpoint);
      }
    };
    await register();
    const accept = async (change: { readonly deliverAt?: number } = {}) => {
      const request = {
        apiKey: { accountId },
        requestId: 'req_1',
        receivedAt: now,
        newId: createNewId(() => now),
      };
      const event = { type, data, dataText: JSON.stringify(data), ...change };
      const [outcome] = await publishing.accept(request, [event]);
      if (outcome === undefined || outcome instanceof AppError) throw outcome;
      return outcome.event;
    };
    const sweeper = new IntakeSweeper({
      ...parts,
      pgIntake,
      redis: cluster,
      openAccounts: fake<OpenAccounts>({ find: async () => ({ historyDays: undefined }) }),
      publishing,
      payloadErasure: fake<PayloadErasure>({ erase: async () => undefined }),
      retention: { ageMs: 14 * 86_400_000 },
    });
    const compareAgain = async () => {
      await pgIntake.checkAgain(undefined);
      await letPass();
      await sweeper.runOnce();
    };
    const pairsOf = (events: readonly AcceptedEvent[]) =>
      events.flatMap(({ id: eventId }) => endpoints.map(({ id: endpointId }) => ({ eventId, endpointId })));
    /** Those that have what it takes to be sent. */
    const findSendable = async (events: readonly AcceptedEvent[]) => {
      const found = await Promise.all(
        pairsOf(events).map(async (pair) => {
          const hasJob = (await opened.deliveryQueue.requestOf(pair)) !== 'no_job';
          const isListed = (await cluster.zscore(keys.deliveries(pair.endpointId), pair.eventId)) !== null;
          return hasJob && isListed && (await cluster.exists(keys.event(accountId, pair.eventId))) === 1;
        }),
      );
      return found.filter(Boolean).length;
    };
    const events: AcceptedEvent[] = [];
    for (let i = 0; i < EVENTS; i += 1) events.push(await accept());
    const letPass = async () => {
      for (const [table, time] of [
        ['webhook_intake', 'kept_at'],
        ['webhook_intake_check', 'again_until'],
      ])
        await history.server.query(`UPDATE ${table} SET ${time} = ${time} - interval '2 minutes'`);
    };
    return {
      accountId,
      events,
      accept,
      take: async (job: EventJob) => await publishing.take(job),
      register,
      compareAgain,
      findSendable,
      pairsOf,
      deliveryStore,
      signals,
      letPass,
      opened,
    };
  }

  async function nodeOf(key: string) {
    const slot = Number(await servers[0]?.call('CLUSTER', 'KEYSLOT', key));
    return Math.floor((slot * NODES) / 16_384);
  }

  /** Nothing is left on the node that has a key. */
  async function loseNodeOf(key: string) {
    await servers[await nodeOf(key)]?.flushall();
  }

  it.each([
    ['the queues', () => '{bull}'],
    ['the account', (accountId: string) => `{${accountId}}`],
    ['a webhook', (_accountId: string, endpointId: string) => `{${endpointId}}`],
    ['an event', (accountId: string, _endpointId: string, eventId: string) => `{${accountId}/${eventId}}`],
  ])(
    'sends each delivery that has lost its job, its record or its event: the node of %s',
    async (_what, keyOf) => {
      const { accountId, events, register, compareAgain, findSendable, pairsOf, letPass } = await arrange();
      const all = EVENTS * WEBHOOKS;
      expect(await findSendable(events)).toBe(all);
      await letPass();
      await compareAgain();
      const [pair] = pairsOf(events);
      await loseNodeOf(keyOf(accountId, pair?.endpointId ?? '', pair?.eventId ?? ''));
      expect(await findSendable(events)).toBeLessThan(all);
      // As the copies of what is configured do.
      await register();
      await compareAgain();
      expect(await findSendable(events)).toBe(all);
    },
  );

  it('leaves alone what has ended, and what has all it needs', async () => {
    const { events, compareAgain, findSendable, pairsOf, deliveryStore, signals } = await arrange();
    const [ended] = pairsOf(events);
    if (!ended) throw new Error('No delivery was made.');
    await deliveryStore.append(ended, DELIVERED);
    await compareAgain();
    expect(signals.named('intake.sent_again')).toEqual([]);
    for (const server of servers) {
      const jobs = await server.keys('*{bull}*');
      if (jobs.length > 0) await server.unlink(...jobs);
    }
    await compareAgain();
    expect(await findSendable(events)).toBe(EVENTS * WEBHOOKS - 1);
  });

  it('goes on with a delivery that was held, and of which only the delay of its job is left', async () => {
    const { events, compareAgain, pairsOf } = await arrange();
    const [id = ''] = pairsOf(events).map(({ eventId, endpointId }) => `${eventId}.${endpointId}`);
    await cluster.zrem('{bull}:deliveries:prioritized', id);
    await cluster.zadd('{bull}:deliveries:delayed', (Date.now() + 3_600_000) * 4_096, id);
    await compareAgain();
    expect(await cluster.zscore('{bull}:deliveries:prioritized', id)).not.toBeNull();
  });

  it('sends the deliveries of a scheduled event that was sent, and whose jobs are lost', async () => {
    const { accountId, accept, take, register, compareAgain, findSendable } = await arrange();
    const deliverAt = Date.now() + 3_600_000;
    let event: AcceptedEvent;
    // Another node has it: one that is lost as well waits for its time again.
    do event = await accept({ deliverAt });
    while ((await nodeOf(keys.event(accountId, event.id))) === (await nodeOf('{bull}')));
    await take({
      id: event.id,
      name: type,
      timestamp: deliverAt,
      data: { account_id: accountId, id: event.id, due_at: deliverAt, v: SCHEDULED_JOB_VERSION },
    });
    expect(await findSendable([event])).toBe(WEBHOOKS);
    await loseNodeOf('{bull}');
    await register();
    await compareAgain();
    expect(await findSendable([event])).toBe(WEBHOOKS);
  });

  it('brings up a scheduled event whose place in the queue is lost', async () => {
    const { accountId, accept, register, compareAgain, opened } = await arrange();
    const deliverAt = Date.now() + 3_600_000;
    const { id: eventId } = await accept({ deliverAt });
    await loseNodeOf('{bull}');
    expect(await opened.scheduledQueue.list(accountId, 1)).toEqual([]);
    // The same node may have had them.
    await register();
    await compareAgain();
    expect(await opened.scheduledQueue.list(accountId, 1)).toEqual([{ accountId, eventId, deliverAt }]);
  });
});
