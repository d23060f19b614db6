import type { AccountId } from '@hookferry/core/domain/account';
import type { EventId } from '@hookferry/core/domain/event';
import { keys } from '@hookferry/core/domain/keys';
import { createClosables } from '@hookferry/core/testing/closables';
import { letLapse } from '@hookferry/core/testing/let-lapse';
import { startHttpServer } from '@hookferry/core/testing/local-server';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { Client } from 'pg';
import type { DeliveryView } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

if (!hasPostgres) console.warn(`SKIPPED: the history in PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

interface Line {
  readonly delivery_id: string;
  readonly event_id: string;
  readonly webhook_id: string;
  readonly event_type: string;
  readonly created_at: string;
  readonly attempt: Readonly<Record<string, unknown>>;
}

interface Page<Item> {
  readonly data: readonly Item[];
  readonly next_cursor: string | null;
}

interface CutPage<Item> extends Page<Item> {
  readonly history?: 'unavailable';
}

/** An attempt as both the export and the table have it. */
interface Archived {
  readonly delivery: string;
  readonly number: number;
  readonly started: number;
  readonly of: readonly unknown[];
}

/** Keys of what has ended. */
const OF_WHAT_IS_OVER = /^(?:event|receivers|events|deliveries|delivery|event-claim|moved|over):/;

describePostgres('the history in PostgreSQL', () => {
  let postgres: PostgresServer;
  let stack: Stack;
  let receiver: Receiver;
  beforeAll(async () => {
    postgres = await PostgresServer.start();
  });
  beforeEach(async () => {
    await postgres.query('DROP SCHEMA public CASCADE');
    await postgres.query('CREATE SCHEMA public');
    stack = await startStack();
    const seen = new Set<unknown>();
    receiver = await Receiver.start(({ headers }) => {
      const isFirst = seen.size < seen.add(headers['webhook-id']).size;
      return isFirst && seen.size % 3 === 0 ? 500 : 204;
    });
  });
  const { willClose, closeAll } = createClosables();
  afterEach(async () => {
    await receiver.stop();
    await stack.stop();
    await closeAll();
    // After a test that killed it, be it that it failed.
    await postgres.start();
  });
  afterAll(() => postgres.close());

  const startStack = (environment: Readonly<Record<string, string>> = {}, workers = 0) =>
    Stack.start({
      workers,
      environment: {
        HISTORY_DATABASE_URL: postgres.url,
        HISTORY_MOVE_AFTER: '0s',
        RETRY_SCHEDULE: '20ms',
        JOB_LOCK_DURATION: '2s',
        ...environment,
      },
    });

  /** Publishes so many events, and resolves with their ids once all are delivered. */
  async function deliver(webhookId: string, count: number): Promise<readonly string[]> {
    const publishing = Array.from({ length: count }, () =>
      stack.client.publish(QUICK_WIN.type, QUICK_WIN.data),
    );
    const ids = await Promise.all(publishing);
    await until(async () => {
      const deliveries = await stack.client.listDeliveries(webhookId);
      const delivered = deliveries.filter(({ status }) => status === 'delivered');
      return ids.every((id) => delivered.some(({ event_id }) => event_id === id)) ? true : undefined;
    });
    return ids;
  }

  async function exported(): Promise<readonly Archived[]> {
    const response = await stack.client.fetch('/v1/deliveries/export');
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    return sorted(
      lines.map((line) => {
        const { attempt, ...rest } = JSON.parse(line) as Line;
        return {
          delivery: rest.delivery_id,
          number: Number(attempt.number),
          started: Date.parse(String(attempt.started_at)),
          of: [
            ...[rest.event_id, rest.webhook_id, rest.event_type, Date.parse(rest.created_at)],
            ...[
              attempt.trigger,
              attempt.worker,
              attempt.duration_ms,
              attempt.outcome,
              attempt.response_status,
            ],
            ...[attempt.response_headers, attempt.response_body, attempt.error],
          ],
        };
      }),
    );
  }

  /** The attempts in the table, by its documented columns. */
  async function stored(): Promise<readonly Archived[]> {
    const rows = await postgres
      .query<Record<string, unknown>>('SELECT * FROM webhook_attempts')
      .catch(() => []);
    return sorted(
      rows.map((row) => ({
        delivery: String(row.delivery_id),
        number: Number(row.number),
        started: Number(row.started_at),
        of: [
          ...[row.event_id, row.webhook_id, row.type, Number(row.accepted_at)],
          ...[row.trigger, row.worker, row.duration_ms, row.outcome, row.response_status],
          ...[row.response_headers, row.response_body, row.error],
        ],
      })),
    );
  }

  const sorted = (attempts: readonly Archived[]) =>
    attempts.toSorted((a, b) => a.delivery.localeCompare(b.delivery) || a.started - b.started);

  const keysLeft = async () => {
    await letLapse(stack.redis.client);
    return (await stack.redis.client.keys('*')).filter((key) => OF_WHAT_IS_OVER.test(key)).toSorted();
  };

  /** Resolves once Redis has nothing of what has ended. */
  async function untilMoved(): Promise<void> {
    await until(async () => ((await keysLeft()).length === 0 ? true : undefined));
  }

  const get = async <Body>(path: string) => (await stack.client.expect<Body>(200, 'GET', path)).body;

  it('has what has ended: it is listed, read, sent again, replayed, and erased as before', async () => {
    await Promise.all([stack.startWorker(), stack.startWorker()]);
    const webhook = await stack.client.register(receiver.url);
    const { data } = QUICK_WIN;
    const own = { ...QUICK_WIN, id: 'order-4711' };
    await stack.client.expect(202, 'POST', '/v1/events', own);
    const [other = ''] = await deliver(webhook.id, 1);
    await stack.client.waitForStatus(webhook.id, own.id, 'delivered');
    await untilMoved();
    const [first] = receiver.requests;

    const { data: events } = await get<Page<{ id: string; delivery_count: number }>>('/v1/events');
    expect(events.map(({ id, delivery_count }) => [id, delivery_count])).toEqual([
      [other, 1],
      [own.id, 1],
    ]);
    const counted = await get<Page<{ deliveries: unknown }>>('/v1/events?include=deliveries');
    expect(counted.data.map(({ deliveries }) => deliveries)).toEqual([
      expect.objectContaining({ total: 1, delivered: 1 }),
      expect.objectContaining({ total: 1, delivered: 1 }),
    ]);
    expect(await get(`/v1/events/${own.id}`)).toMatchObject({
      data,
      deliveries: { total: 1, delivered: 1 },
    });
    const { data: listed } = await get<Page<DeliveryView>>('/v1/deliveries');
    expect(listed.map(({ event_id, status }) => [event_id, status])).toEqual([
      [other, 'delivered'],
      [own.id, 'delivered'],
    ]);
    const delivery = await stack.client.readDelivery(`${own.id}.${webhook.id}`);
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ number: 1, outcome: 'delivered' }] });

    // The id is known, with the same content and with another one.
    await stack.client.expect(200, 'POST', '/v1/events', own);
    await stack.client.expect(409, 'POST', '/v1/events', { ...own, ...BRIEF });
    await untilMoved();

    await stack.client.expect(202, 'POST', `/v1/deliveries/${delivery.id}/redeliver`);
    const again = await receiver.waitFor(3).then(() => receiver.requests.at(-1));
    expect([again?.headers['webhook-id'], again?.body]).toEqual([own.id, first?.body]);
    await until(async () => {
      const { attempts } = await stack.client.readDelivery(delivery.id);
      return attempts.length === 2 ? true : undefined;
    });
    await untilMoved();
    const twice = await stack.client.readDelivery(delivery.id);
    expect(twice.attempts.map(({ number, trigger }) => [number, trigger])).toEqual([
      [1, 'schedule'],
      [2, 'manual'],
    ]);

    // A webhook that was made later gets what it has missed.
    const late = await Receiver.start(() => 204);
    willClose({ close: () => late.stop() });
    const missing = await stack.client.register(late.url);
    const range = { since: '2026-01-01T00:00:00Z', until: new Date(Date.now() + 60_000).toISOString() };
    await stack.client.expect(202, 'POST', `/v1/webhooks/${missing.id}/replays`, {
      ...range,
      mode: 'missing',
    });
    await late.waitFor(2);
    await stack.client.waitForStatus(missing.id, own.id, 'delivered');
    await untilMoved();
    expect(late.requests.map(({ headers }) => headers['webhook-id']).toSorted()).toEqual([other, own.id]);
    expect(receiver.requests).toHaveLength(3);
    expect(await get(`/v1/events/${own.id}`)).toMatchObject({ deliveries: { total: 2, delivered: 2 } });

    await stack.client.expect(204, 'DELETE', `/v1/events/${own.id}/payload`);
    expect(await get(`/v1/events/${own.id}`)).toMatchObject({
      data: null,
      payload_erased_at: expect.any(String),
    });
    const { body: refused } = await stack.client.expect<{ code: string }>(
      409,
      'POST',
      `/v1/deliveries/${delivery.id}/redeliver`,
    );
    expect(refused.code).toBe('payload_erased');
    expect(await postgres.query('SELECT data FROM webhook_events WHERE event_id = $1', [own.id])).toEqual([
      { data: null },
    ]);
    await stack.client.expect(409, 'POST', '/v1/events', own);
  });

  it('has every attempt as it is on record, those of two workers, in the partition of its day', async () => {
    await Promise.all([stack.startWorker(), stack.startWorker()]);
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 40);
    await untilMoved();
    const attempts = await exported();
    expect(attempts.length).toBeGreaterThan(40);
    expect(await stored()).toEqual(attempts);

    const days = new Set(attempts.map(({ of }) => new Date(Number(of[3])).toISOString().slice(0, 10)));
    const partitions = await postgres.query<{ name: string }>(
      `SELECT DISTINCT tableoid::regclass::text AS name FROM webhook_attempts ORDER BY 1`,
    );
    expect(partitions.map(({ name }) => name)).toEqual(
      [...days].toSorted().map((day) => `webhook_attempts_k90_${day.replaceAll('-', '')}`),
    );
    expect(await postgres.query('SELECT DISTINCT account_id FROM webhook_attempts')).toEqual([
      { account_id: 'default' },
    ]);
  });

  const pageAfter = async ({ next_cursor }: CutPage<unknown>) =>
    await stack.client.request<CutPage<DeliveryView>>(
      'GET',
      `/v1/deliveries?status=delivered&cursor=${next_cursor}`,
    );

  it('holds up no delivery while it is away, and has everything once it is back', async () => {
    const worker = await stack.startWorker();
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 5);
    await untilMoved();
    const old = await exported();
    await postgres.kill();

    const ids = await Promise.all(
      Array.from({ length: 20 }, () => stack.client.publish(QUICK_WIN.type, QUICK_WIN.data)),
    );
    await receiver.waitFor(old.length + ids.length);
    await worker.waitForLine((line) => line.message === 'history.failed');
    const recent = await until(async () => {
      const page = await get<CutPage<DeliveryView>>('/v1/deliveries?status=delivered&limit=200');
      return page.data.length === ids.length ? page : undefined;
    });
    expect(recent).toMatchObject({ history: 'unavailable', next_cursor: expect.any(String) });
    const next = await pageAfter(recent);
    // What comes next may begin with the end of the last event.
    const beyond = next.status === 200 ? await pageAfter(next.body) : next;
    expect(beyond).toMatchObject({ status: 503, body: { code: 'history_unavailable' } });
    expect(beyond.headers.get('retry-after')).toBe('5');
    await stack.client.expect(503, 'GET', `/v1/deliveries/${old[0]?.delivery}`);
    await stack.client.expect(503, 'POST', `/v1/deliveries/${old[0]?.delivery}/redeliver`);

    await postgres.start();
    await untilMoved();
    await until(async () => (await stack.client.fetch('/v1/deliveries?limit=200')).ok || undefined);
    const attempts = await exported();
    expect(attempts.length).toBeGreaterThanOrEqual(old.length + ids.length);
    expect(await stored()).toEqual(attempts);
  });

  it('has every attempt once though a worker is killed in the middle of a batch', async () => {
    const doomed = await stack.startWorker();
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 5);
    await untilMoved();

    const locking = new Client({ connectionString: postgres.url });
    await locking.connect();
    await locking.query('BEGIN');
    await locking.query('LOCK TABLE webhook_attempts IN EXCLUSIVE MODE');
    await deliver(webhook.id, 20);
    await until(async () => {
      const waiting = await postgres.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
      return waiting.length > 0 ? true : undefined;
    });
    await doomed.end('SIGKILL');
    await locking.query('COMMIT');
    await locking.end();

    await ageWhatIsClaimed();
    await stack.startWorker();
    await untilMoved();
    const attempts = await exported();
    expect(await stored()).toEqual(attempts);
    expect(new Set(attempts.map(({ delivery, started }) => `${delivery} ${started}`)).size).toBe(
      attempts.length,
    );
  });

  // Half a minute has to pass before it is taken over.
  async function ageWhatIsClaimed(): Promise<void> {
    const claimed = await stack.redis.client.zrange(keys.ended, '0', '-1');
    expect(claimed.length).toBeGreaterThan(0);
    await stack.redis.client.zadd(keys.ended, ...claimed.flatMap((entry) => [Date.now(), entry]));
  }

  it('goes on after what it can not store: NUL in a response is shown as it was, what is no event is refused', async () => {
    const odd = willClose(
      await startHttpServer((_request, response) => {
        response.writeHead(404, { 'content-type': 'text/plain' }).end('a\0b');
      }),
    );
    await stack.redis.client.set(keys.event('default' as AccountId, 'odd' as EventId), '1 x\nno event');
    await stack.redis.client.zadd(keys.ended, 1, 'default/odd.');
    await stack.startWorker();
    const webhook = await stack.client.register(`http://127.0.0.1:${odd.port}`);
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    const { id } = await stack.client.waitForStatus(webhook.id, eventId, 'exhausted');
    await until(async () => ((await stored()).length === 2 ? true : undefined));
    expect(
      await postgres.query('SELECT number, response_body FROM webhook_attempts ORDER BY number'),
    ).toEqual([
      { number: 1, response_body: 'a\uFFFDb' },
      { number: 2, response_body: 'a\uFFFDb' },
    ]);
    await until(async () => ((await keysLeft()).length === 1 ? true : undefined));
    const { attempts } = await stack.client.readDelivery(id);
    expect(attempts).toMatchObject([{ response_body: 'a\0b' }, { response_body: 'a\0b' }]);
    expect(await stack.redis.client.hkeys(keys.historyRefused)).toEqual(['default/odd.']);
  });

  it('is filled from a Redis Cluster, where lists and logs are on several nodes', async () => {
    const cluster = await RedisCluster.start();
    willClose({ close: () => cluster.remove() });
    await stack.stop();
    stack = await startStack({ REDIS_URL: cluster.url }, 2);
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 20);
    const attempts = await exported();
    await until(async () => ((await stored()).length >= attempts.length ? true : undefined));
    expect(await stored()).toEqual(attempts);
  });

  it('costs nothing when there is none: nothing is noted of what has ended', async () => {
    await stack.startWorker({ HISTORY_DATABASE_URL: '' });
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 3);
    expect(await stack.redis.client.exists(keys.ended)).toBe(0);
  });

  it('ends with its worker at SIGTERM, also while the database is away, and shows no password', async () => {
    await postgres.kill();
    const worker = await stack.startWorker({
      HISTORY_DATABASE_URL: postgres.url.replace('postgres@', 'postgres:hunter2@'),
    });
    const webhook = await stack.client.register(receiver.url);
    await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await receiver.waitFor(1);
    await worker.waitForLine((line) => line.message === 'history.failed');
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(worker.output).not.toContain('hunter2');
    expect(webhook.id).toBeDefined();
  });

  it('starts no process over the tables of a later version', async () => {
    const worker = await stack.startWorker();
    await worker.end();
    await postgres.query('UPDATE webhook_schema SET version = 99');
    for (const start of [() => stack.startWorker(), () => stack.startApi()]) {
      await expect(start()).rejects.toThrow('made by a later version of Hookferry');
    }
  });
});
