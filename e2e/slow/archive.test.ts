import { keys } from '@hookferry/core/domain/keys';
import { createClosables } from '@hookferry/core/testing/closables';
import { startHttpServer } from '@hookferry/core/testing/local-server';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { Client } from 'pg';
import { Receiver } from '../support/receiver';
import { RedisCluster } from '../support/redis-cluster';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

if (!hasPostgres) console.warn(`SKIPPED: the archive of attempts, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

interface Line {
  readonly delivery_id: string;
  readonly event_id: string;
  readonly webhook_id: string;
  readonly type: string;
  readonly created_at: string;
  readonly attempt: Readonly<Record<string, unknown>>;
}

/** An attempt as both the export and the archive have it. */
interface Archived {
  readonly delivery: string;
  readonly number: number;
  readonly started: number;
  readonly of: readonly unknown[];
}

describePostgres('the archive of attempts', () => {
  let postgres: PostgresServer;
  let stack: Stack;
  let receiver: Receiver;
  beforeAll(async () => {
    postgres = await PostgresServer.start();
  });
  beforeEach(async () => {
    await postgres.query('DROP TABLE IF EXISTS webhook_attempts');
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
        ARCHIVE_DATABASE_URL: postgres.url,
        RETRY_SCHEDULE: '20ms',
        JOB_LOCK_DURATION: '2s',
        ...environment,
      },
    });

  /** Publishes so many events, and resolves once all that the webhook has are delivered. */
  async function deliver(webhookId: string, count: number): Promise<void> {
    const publishing = Array.from({ length: count }, () =>
      stack.client.publish(QUICK_WIN.type, QUICK_WIN.data),
    );
    const ids = await Promise.all(publishing);
    await until(async () => {
      const deliveries = await stack.client.listDeliveries(webhookId);
      const delivered = deliveries.filter(({ status }) => status === 'delivered');
      return ids.every((id) => delivered.some(({ event_id }) => event_id === id)) ? true : undefined;
    });
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
            ...[rest.event_id, rest.webhook_id, rest.type, Date.parse(rest.created_at)],
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

  async function archived(): Promise<readonly Archived[]> {
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

  /** Resolves once the stream is empty: all that was recorded is in the archive, or was put aside. */
  async function untilArchived(): Promise<void> {
    await until(async () =>
      (await stack.redis.client.xlen(keys.attemptsToArchive)) === 0 ? true : undefined,
    );
  }

  it('has every attempt as it is on record, those of two workers, in the partition of its day', async () => {
    await Promise.all([stack.startWorker(), stack.startWorker()]);
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 40);
    await untilArchived();
    const attempts = await exported();
    expect(attempts.length).toBeGreaterThan(40);
    expect(await archived()).toEqual(attempts);

    const days = new Set(attempts.map(({ started }) => new Date(started).toISOString().slice(0, 10)));
    const partitions = await postgres.query<{ name: string }>(
      `SELECT DISTINCT tableoid::regclass::text AS name FROM webhook_attempts ORDER BY 1`,
    );
    expect(partitions.map(({ name }) => name)).toEqual(
      [...days].toSorted().map((day) => `webhook_attempts_${day.replaceAll('-', '')}`),
    );
    expect(await postgres.query('SELECT DISTINCT account_id FROM webhook_attempts')).toEqual([
      { account_id: 'default' },
    ]);
  });

  it('holds up no delivery while it is away, and has everything once it is back', async () => {
    const worker = await stack.startWorker();
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 5);
    await untilArchived();
    await postgres.kill();

    await deliver(webhook.id, 20);
    await worker.waitForLine((line) => line.message === 'archive.failed');
    expect(await stack.redis.client.xlen(keys.attemptsToArchive)).toBeGreaterThanOrEqual(20);

    await postgres.start();
    await untilArchived();
    expect(await archived()).toEqual(await exported());
  });

  it('has every attempt once though a worker is killed in the middle of a batch', async () => {
    const doomed = await stack.startWorker();
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 5);
    await untilArchived();

    const locking = new Client({ connectionString: postgres.url });
    await locking.connect();
    await locking.query('BEGIN');
    await locking.query('LOCK TABLE webhook_attempts');
    await deliver(webhook.id, 20);
    await until(async () => {
      const waiting = await postgres.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
      return waiting.length > 0 ? true : undefined;
    });
    await doomed.end('SIGKILL');
    await locking.query('COMMIT');
    await locking.end();

    await ageWhatIsTaken();
    await stack.startWorker();
    await untilArchived();
    const attempts = await exported();
    expect(await archived()).toEqual(attempts);
    expect(new Set(attempts.map(({ delivery, started }) => `${delivery} ${started}`)).size).toBe(
      attempts.length,
    );
  });

  // A minute has to pass before it is taken over.
  async function ageWhatIsTaken(): Promise<void> {
    const stream = keys.attemptsToArchive;
    const taken = await stack.redis.client.xpending(stream, 'archivers', '-', '+', 1_000);
    for (const [id, consumer] of taken as [string, string][]) {
      await stack.redis.client.xclaim(stream, 'archivers', consumer, 0, id, 'IDLE', 60_000, 'JUSTID');
    }
    expect(taken.length).toBeGreaterThan(0);
  }

  it('goes on after what it can not store: NUL in an answer, and what is no attempt at all', async () => {
    const odd = willClose(
      await startHttpServer((_request, response) => {
        response.writeHead(404, { 'content-type': 'text/plain' }).end('a\0b');
      }),
    );
    await stack.redis.client.xadd(keys.attemptsToArchive, '*', 'hello', 'world');
    await stack.startWorker();
    const webhook = await stack.client.register(`http://127.0.0.1:${odd.port}`);
    const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await stack.client.waitForStatus(webhook.id, eventId, 'exhausted');
    await untilArchived();
    expect(
      await postgres.query('SELECT number, response_body FROM webhook_attempts ORDER BY number'),
    ).toEqual([
      { number: 1, response_body: 'a\uFFFDb' },
      { number: 2, response_body: 'a\uFFFDb' },
    ]);
    expect(await stack.redis.client.xlen(keys.attemptsNotArchived)).toBe(1);
  });

  it('is filled from a Redis Cluster, where the stream and the logs are on several nodes', async () => {
    const cluster = await RedisCluster.start();
    willClose({ close: () => cluster.remove() });
    await stack.stop();
    stack = await startStack({ REDIS_URL: cluster.url }, 2);
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 20);
    const attempts = await exported();
    await until(async () => ((await archived()).length >= attempts.length ? true : undefined));
    expect(await archived()).toEqual(attempts);
  });

  it('costs nothing when there is none: nothing is put into the stream', async () => {
    await stack.startWorker({ ARCHIVE_DATABASE_URL: '' });
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 3);
    expect(await stack.redis.client.exists(keys.attemptsToArchive)).toBe(0);
  });

  it('ends with its worker at SIGTERM, also while the database is away, and shows no password', async () => {
    await postgres.kill();
    const worker = await stack.startWorker({
      ARCHIVE_DATABASE_URL: postgres.url.replace('postgres@', 'postgres:hunter2@'),
    });
    const webhook = await stack.client.register(receiver.url);
    await deliver(webhook.id, 1);
    await worker.waitForLine((line) => line.message === 'archive.failed');
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(worker.output).not.toContain('hunter2');
  });
});
