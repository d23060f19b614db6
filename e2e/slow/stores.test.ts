import { hasPostgres, NO_POSTGRES, type PostgresPrograms } from '@hookferry/core/testing/postgres-server';
import type { PgBouncerProgram } from '../support/pg-bouncer';
import { type Provided, provideProgram } from '../support/provide-program';
import { publishFromProcess } from '../support/publish-from-process';
import { Receiver } from '../support/receiver';
import type { RedisProgram } from '../support/redis-server';
import { runCliWith } from '../support/run-cli';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import {
  DOCUMENTED_RIGHTS,
  RIGHTS_AT_A_PROVIDER,
  type StartedStore,
  startBehindSentinel,
  startCluster,
  startSingle,
  startWithHistory,
} from '../support/started-stores';
import { until } from '../support/until';

interface Row {
  readonly store: string;
  /** Why it can't be had here. */
  readonly refusal?: string;
  /** Whether an account is erased, which takes a quarter of a minute: where it needs what other work does not. */
  readonly erasesAccount?: boolean;
  readonly start: () => Promise<StartedStore>;
}

interface FoundRedis {
  readonly command: readonly [string, ...string[]];
  readonly version: string;
}

function redisOf(name: 'redis' | 'valkey', release: string): Provided<FoundRedis> {
  return provideProgram('tools/redis/provide-redis.mjs', `findRedisOfRelease('${name}', '${release}')`);
}

function rowOf<Program>(
  store: string,
  provided: Provided<Program>,
  start: (program: Program) => Promise<StartedStore>,
): Row {
  const nothing = () => Promise.reject(new Error(`There is no ${store}.`));
  return 'refusal' in provided
    ? { store, refusal: provided.refusal, start: nothing }
    : { store, start: () => start(provided.program) };
}

const programOf = ({ command: [program, ...args] }: FoundRedis): RedisProgram => ({
  program,
  args,
  env: process.env,
});

const atAProvider = { rights: RIGHTS_AT_A_PROVIDER, isInMemory: true };
const NEWEST_VALKEY = redisOf('valkey', 'forky');
const HERE: Provided<undefined> = hasPostgres ? { program: undefined } : { refusal: NO_POSTGRES };

/** PostgreSQL as npm has it. */
function packedPostgres(major: number): Row {
  const account = process.getuid?.() === 0 ? '{ uid: 65534, gid: 65534 }' : '{}';
  const call = `providePostgres({ major: ${major}, account: ${account} }).then((program) => ({ program }))`;
  const provided = provideProgram<PostgresPrograms>('tools/postgres/provide-postgres.mjs', call);
  return rowOf(`PostgreSQL ${major}`, provided, (programs) => startWithHistory(programs));
}

function bounced(release: string, version: string): Row {
  const call = `findPgBouncer('${release}')`;
  const provided = hasPostgres
    ? provideProgram<PgBouncerProgram>('tools/postgres/find-pgbouncer.mjs', call)
    : { refusal: NO_POSTGRES };
  const name = `PostgreSQL behind PgBouncer ${version}, pool_mode = transaction`;
  return rowOf(name, provided, (pooler) => startWithHistory(undefined, pooler));
}

const ROWS: readonly Row[] = [
  {
    store: 'a Redis over TLS, with the rights that are documented',
    erasesAccount: true,
    start: () => startSingle({ rights: DOCUMENTED_RIGHTS }),
  },
  {
    store: 'a Redis over TLS, with what providers allow, and no append-only file',
    erasesAccount: true,
    start: () => startSingle(atAProvider),
  },
  {
    store: 'a Redis behind Sentinels over TLS',
    start: () => startBehindSentinel({ rights: DOCUMENTED_RIGHTS }),
  },
  { store: 'a Cluster over TLS, one shard', start: () => startCluster(1, { rights: DOCUMENTED_RIGHTS }) },
  { store: 'a Cluster, three shards', start: () => startCluster(3) },
  rowOf('Redis 8.0', redisOf('redis', 'trixie'), (found) => startSingle({ program: programOf(found) })),
  rowOf('Valkey 8.1', redisOf('valkey', 'trixie'), (found) => startSingle({ program: programOf(found) })),
  rowOf('Valkey 9.1', NEWEST_VALKEY, (found) => startSingle({ program: programOf(found) })),
  {
    ...rowOf(
      'a Cluster of Valkey 9.1 over TLS, with what providers allow, three shards',
      NEWEST_VALKEY,
      (found) => startCluster(3, { ...atAProvider, program: programOf(found) }),
    ),
    erasesAccount: true,
  },
  rowOf("this machine's PostgreSQL", HERE, () => startWithHistory(undefined)),
  packedPostgres(17),
  packedPostgres(18),
  { ...bounced('bookworm', '1.18'), erasesAccount: true },
  bounced('trixie', '1.24'),
];

for (const { store, refusal } of ROWS)
  if (refusal !== undefined) console.warn(`SKIPPED: ${store}, because it can't be had here: ${refusal}`);

/** Of an account that has an event and a delivery. It goes on beside the tests. */
async function beginErasure({ client }: Stack): Promise<void> {
  const asAcme = { 'x-account-id': 'acme' };
  const receiver = await Receiver.start();
  await client.expect(201, 'POST', '/v1/accounts', { id: 'acme' });
  await client.expect(201, 'POST', '/v1/webhooks', { url: receiver.url, events: ['*'] }, asAcme);
  await client.expect(202, 'POST', '/v1/events', QUICK_WIN, asAcme);
  await receiver.waitFor(1);
  await client.expect(202, 'DELETE', '/v1/accounts/acme');
  await receiver.stop();
}

/** All that a store has to be able to do, in short. */
function smoke({ start, erasesAccount }: Row): void {
  let store: StartedStore;
  let stack: Stack;
  let receiver: Receiver;
  let webhookId: string;
  let isDown = false;
  beforeAll(async () => {
    store = await start();
    receiver = await Receiver.start(() => (isDown ? 500 : 204));
    stack = await Stack.start({
      hasHistory: false,
      environment: { REDIS_URL: store.redisUrl, RETRY_SCHEDULE: '50ms', ...store.environment },
    });
    if (erasesAccount) await beginErasure(stack);
    webhookId = (await stack.client.register(receiver.url)).id;
  });
  afterAll(async () => {
    await stack?.stop();
    await receiver?.stop();
    await store?.close();
  });

  /** Resolves once it is delivered, and has moved if there is a history. */
  async function settled(eventId: string): Promise<string> {
    const { id } = await stack.client.waitForStatus(webhookId, eventId, 'delivered');
    await store.untilMoved?.(eventId);
    return id;
  }
  const publish = (event: object) => stack.client.expect<{ id: string }>(202, 'POST', '/v1/events', event);
  const cli = (...args: readonly string[]) =>
    runCliWith({ REDIS_URL: store.redisUrl, ...store.environment }, ...args);

  it('delivers what comes over HTTP and by the queue', async () => {
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await settled(eventId);
    const { environment } = store;
    await publishFromProcess(store.redisUrl, { ...BRIEF, id: 'pushed-1' }, { environment });
    await settled('pushed-1');
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([eventId, 'pushed-1']);
  });

  it('tries again, and sends again on request', async () => {
    isDown = true;
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    const exhausted = await stack.client.waitForStatus(webhookId, eventId, 'exhausted');
    await store.untilMoved?.(eventId);
    isDown = false;
    await stack.client.expect(202, 'POST', `/v1/deliveries/${exhausted.id}/redeliver`);
    const { attempts } = await stack.client.readDelivery(await settled(eventId));
    expect(attempts.map(({ trigger, outcome }) => [trigger, outcome])).toEqual([
      ['schedule', 'http_5xx'],
      ['schedule', 'http_5xx'],
      ['manual', 'delivered'],
    ]);
  });

  it('lists, finds by the data, exports, and erases a payload', async () => {
    const { id } = (await publish({ ...QUICK_WIN, data: { ...QUICK_WIN.data, keyword: 'findable' } })).body;
    const deliveryId = await settled(id);
    const query = encodeURIComponent(JSON.stringify({ keyword: 'findable' }));
    const idsIn = async (list: string) => {
      const path = `/v1/${list}?limit=200&data=${query}`;
      const { body } = await stack.client.expect<{ data: readonly { id: string }[] }>(200, 'GET', path);
      return body.data.map((one) => one.id);
    };
    expect([await idsIn('events'), await idsIn('deliveries')]).toEqual([[id], [deliveryId]]);
    expect((await stack.client.listDeliveries(webhookId)).map((one) => one.id)).toContain(deliveryId);
    const exported = await (await stack.client.fetch('/v1/deliveries/export')).text();
    expect(exported).toContain(deliveryId);

    await stack.client.expect(204, 'DELETE', `/v1/events/${id}/payload`);
    const { body } = await stack.client.expect<{ data: unknown }>(200, 'GET', `/v1/events/${id}`);
    expect(body.data).toBeNull();
    expect([await idsIn('events'), await idsIn('deliveries')]).toEqual([[], []]);
  });

  it('sends nothing of a paused queue until it is resumed, and a scheduled event at its time', async () => {
    const before = receiver.requests.length;
    expect(await cli('queues', 'pause', 'deliveries')).toMatchObject({ exitCode: 0, stderr: '' });
    const deliverAt = new Date(Date.now() + 1_000).toISOString();
    const scheduled = (await publish({ ...QUICK_WIN, deliver_at: deliverAt })).body.id;
    const held = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await stack.client.waitForStatus(webhookId, scheduled, 'pending');
    await stack.client.waitForStatus(webhookId, held, 'pending');
    expect(receiver.requests).toHaveLength(before);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(deliverAt));
    expect(await cli('queues', 'resume', 'deliveries')).toMatchObject({ exitCode: 0, stderr: '' });
    await settled(scheduled);
    await settled(held);
    expect(receiver.requests).toHaveLength(before + 2);
  });

  if (erasesAccount) {
    it('erases an account', async () => {
      const gone = await until(async () => {
        const { status } = await stack.client.request('GET', '/v1/accounts/acme');
        return status === 200 ? undefined : status;
      });
      expect(gone).toBe(404);
    });
  }

  it('asks for nothing that the store refuses, as the user and by the port that it was told', async () => {
    const output = [stack.api, ...stack.workers].map((part) => part.output).join('\n');
    expect(output).not.toMatch(/NOPERM|CROSSSLOT|MOVED|"(?:job|request|task|history)\.failed"/);
    expect(output.includes('redis.unsafe')).toBe(store.isInMemory === true);
    for (const { ports, users } of (await store.connections?.()) ?? []) {
      expect(store.tlsPorts).toEqual(expect.arrayContaining([...ports]));
      expect([ports.size, users]).toEqual([1, new Set(['hookferry'])]);
    }
  });
}

for (const row of ROWS) (row.refusal === undefined ? describe : describe.skip)(row.store, () => smoke(row));
