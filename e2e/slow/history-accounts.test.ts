import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { Receiver } from '../support/receiver';
import { runCli } from '../support/run-cli';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

if (!hasPostgres) console.warn(`SKIPPED: accounts in the history in PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

interface Usage {
  readonly used_bytes: number;
  readonly redis_bytes: number;
  readonly history_bytes: number | null;
}

describePostgres('an account and its history', () => {
  let postgres: PostgresServer;
  let stack: Stack;
  let receiver: Receiver;
  beforeAll(async () => {
    postgres = await PostgresServer.start();
    stack = await Stack.start({
      workers: 1,
      environment: { HISTORY_DATABASE_URL: postgres.url, HISTORY_MOVE_AFTER: '0s' },
    });
    receiver = await Receiver.start();
    await stack.client.register(receiver.url);
  });
  // After a test that killed it, failed or not.
  afterEach(() => postgres.start());
  afterAll(async () => {
    await receiver.stop();
    await stack.stop();
    await postgres.close();
  });

  const daysOf = async (eventId: string) => {
    const text = 'SELECT keep_days FROM webhook_events WHERE event_id = $1';
    const rows = await postgres.query<{ keep_days: number }>(text, [eventId]);
    return rows.map(({ keep_days: days }) => days);
  };

  /** Publishes an event, and resolves with its id once it has moved. */
  async function move(data: object = QUICK_WIN.data): Promise<string> {
    const id = await stack.client.publish(QUICK_WIN.type, data);
    await until(async () => ((await daysOf(id)).length > 0 ? true : undefined));
    return id;
  }

  const usage = async () => (await stack.client.expect<Usage>(200, 'GET', '/v1/account/usage')).body;

  it('is kept for as long as its operator says, from the change on', async () => {
    const change = (history_retention: string | null) =>
      stack.client.expect(200, 'PATCH', '/v1/accounts/default', { history_retention });
    expect(await daysOf(await move())).toEqual([90]);
    await change('30d');
    const short = await until(async () => {
      const id = await move();
      return (await daysOf(id))[0] === 30 ? id : undefined;
    });
    await change(null);
    await until(async () => ((await daysOf(await move()))[0] === 90 ? true : undefined));

    const { body } = await stack.client.expect<{ data: readonly { id: string }[] }>(
      200,
      'GET',
      `/v1/deliveries?event_id=${short}`,
    );
    const [delivery] = body.data;
    await stack.client.expect(202, 'POST', `/v1/deliveries/${delivery?.id}/redeliver`);
    await until(async () => {
      const attempts = await postgres.query('SELECT FROM webhook_attempts WHERE event_id = $1', [short]);
      return attempts.length === 2 ? true : undefined;
    });
    expect(await daysOf(short)).toEqual([30]);
    const listed = await stack.client.expect<{ data: readonly unknown[] }>(
      200,
      'GET',
      `/v1/deliveries?event_id=${short}`,
    );
    expect(listed.body.data).toHaveLength(1);
  });

  it('tells what it stores in Redis and in the history apart, and says when it does not know', async () => {
    await move();
    const before = await usage();
    expect(before.redis_bytes).toBe(before.used_bytes);
    expect(before.history_bytes).toBeGreaterThan(1_000);
    const list = '/v1/accounts?include=usage';
    const { body } = await stack.client.expect<{ data: readonly { usage: Usage }[] }>(200, 'GET', list);
    expect(body.data[0]?.usage.history_bytes).toBe(before.history_bytes);
    await postgres.kill();
    expect(await usage()).toMatchObject({ history_bytes: null });
    await postgres.start();
    await until(async () => ((await usage()).history_bytes === null ? undefined : true));
  });

  it('has what PostgreSQL refused, once the operator has mended the table', async () => {
    await postgres.query(
      `ALTER TABLE webhook_events ADD CONSTRAINT small CHECK (data NOT LIKE '%refuse me%') NOT VALID`,
    );
    const eventId = await stack.client.publish(QUICK_WIN.type, { ...QUICK_WIN.data, keyword: 'refuse me' });
    const refused = async () => {
      const { stdout } = await runCli(stack.redis.url, 'history', 'refused', '--json');
      return JSON.parse(stdout) as readonly { event_id: string; reason: string; since: string }[];
    };
    const [entry] = await until(async () => ((await refused()).length > 0 ? await refused() : undefined));
    expect(entry).toMatchObject({ event_id: eventId, reason: expect.stringMatching(/^23514: .*"small"/) });
    expect(Math.abs(Date.parse(entry?.since ?? '') - Date.now())).toBeLessThan(60_000);
    await stack.client.expect(200, 'GET', `/v1/events/${eventId}`);

    await postgres.query('ALTER TABLE webhook_events DROP CONSTRAINT small');
    expect(await runCli(stack.redis.url, 'history', 'retry-refused')).toMatchObject({
      exitCode: 0,
      stdout: 'Retried 1.\n',
    });
    await until(async () => ((await daysOf(eventId)).length === 1 ? true : undefined));
    expect(await refused()).toEqual([]);
  });
});
