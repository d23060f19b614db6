import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@hookferry/client';
import { keys } from '@hookferry/core/domain/keys';
import { letLapse } from '@hookferry/core/testing/let-lapse';
import { hasPostgres, NO_POSTGRES } from '@hookferry/core/testing/postgres-server';
import type { DeliveryView, Webhook } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

if (!hasPostgres) console.warn(`SKIPPED: while PostgreSQL is away, because ${NO_POSTGRES}.`);

const ROOT = join(__dirname, '..', '..');
const CLI = join(ROOT, 'packages/cli/dist/main.js');
/** Keys of what has ended, and of what brings it back or sends it. */
const OF_DELIVERIES =
  /^(?:event|receivers|events|deliveries|delivery|event-claim|moved|over|pinned|pinned-event):/;

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly next_cursor: string | null;
  readonly history?: string;
}

interface Replay {
  readonly id: string;
  readonly status: string;
  readonly found: number;
  readonly enqueued: number;
}

/** An account of which one event has moved, while PostgreSQL is there no longer. */
(hasPostgres ? describe : describe.skip)('while PostgreSQL is away', () => {
  let stack: Stack;
  let receiver: Receiver;
  let webhook: Webhook;
  let old: DeliveryView;
  beforeEach(async () => {
    stack = await Stack.start({ hasHistory: true, environment: { RETRY_SCHEDULE: '20ms' } });
    receiver = await Receiver.start();
    webhook = await stack.client.register(receiver.url);
    await stack.client.expect(202, 'POST', '/v1/events', OLD);
    old = await stack.client.waitForStatus(webhook.id, OLD.id, 'delivered');
    await untilMoved();
    await stack.postgres?.kill();
  });
  afterEach(async () => {
    await stack.stop();
    await receiver.stop();
  });

  const FILTER = { position: { lte: 10 } };
  const OLD = { ...QUICK_WIN, id: 'old-4711' };

  const keysLeft = async () => {
    await letLapse(stack.redis.client);
    return (await stack.redis.client.keys('*')).filter((key) => OF_DELIVERIES.test(key)).toSorted();
  };

  async function untilMoved(): Promise<void> {
    await until(async () => ((await keysLeft()).length === 0 ? true : undefined));
  }

  async function deliver(): Promise<string> {
    const id = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await stack.client.waitForStatus(webhook.id, id, 'delivered');
    return id;
  }

  const refused = expect.objectContaining({ status: 503, code: 'history_unavailable' }) as unknown;

  async function expectRefused(method: string, path: string, body?: object): Promise<void> {
    const response = await stack.client.request(method, path, body);
    expect([path, response.body, response.headers.get('retry-after')]).toEqual([path, refused, '5']);
  }

  it('each route that needs it is 503, as it is described', async () => {
    const requests = [
      ['GET', '/v1/deliveries', '/v1/deliveries'],
      ['GET', '/v1/webhooks/{id}/deliveries', `/v1/webhooks/${webhook.id}/deliveries`],
      ['GET', '/v1/events/{id}/deliveries', `/v1/events/${OLD.id}/deliveries`],
      ['GET', '/v1/deliveries/{id}', `/v1/deliveries/${old.id}`],
      ['POST', '/v1/deliveries/{id}/redeliver', `/v1/deliveries/${old.id}/redeliver`],
      ['GET', '/v1/deliveries/export', '/v1/deliveries/export'],
      ['GET', '/v1/events', '/v1/events'],
      ['GET', '/v1/events/{id}', `/v1/events/${OLD.id}`],
      ['DELETE', '/v1/events/{id}/payload', `/v1/events/${OLD.id}/payload`],
      ['POST', '/v1/filters/try', '/v1/filters/try', { filter: FILTER, event_id: OLD.id }],
      ['POST', '/v1/filters/try', '/v1/filters/try', { filter: FILTER, last: 5 }],
    ] as const;
    const { paths } = JSON.parse(await readFile(join(ROOT, 'docs/openapi.json'), 'utf8')) as {
      paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
    };
    for (const [method, route, path, body] of requests) {
      await expectRefused(method, path, body);
      const described = paths[route]?.[method.toLowerCase()]?.responses['503']?.description;
      expect([route, described]).toEqual([route, expect.stringContaining('history_unavailable')]);
    }
    expect(await keysLeft()).toEqual([]);
  });

  it('a list ends there and says so; a page with nothing to show is 503 at once', async () => {
    const id = await deliver();
    for (const path of ['/v1/deliveries', `/v1/webhooks/${webhook.id}/deliveries`, '/v1/events']) {
      const { body } = await stack.client.expect<Page>(200, 'GET', path);
      expect(body).toMatchObject({ history: 'unavailable', next_cursor: expect.any(String) });
      expect(body.data).toHaveLength(1);
      await expectRefused('GET', `${path}?cursor=${body.next_cursor}`);
      const filter = path === '/v1/events' ? 'type=none.such' : 'status=exhausted';
      await expectRefused('GET', `${path}?${filter}`);
      await expectRefused('GET', `${path}?until=${new Date(Date.now() - 3_600_000).toISOString()}`);
      // What was accepted after all that has moved is in Redis.
      const { body: recent } = await stack.client.expect<Page>(200, 'GET', `${path}?limit=1`);
      expect(recent.history).toBeNull();
    }
    await stack.client.expect(200, 'GET', `/v1/events/${id}`);
    await stack.client.expect(200, 'GET', `/v1/events/${id}/deliveries`);
    await stack.client.expect(200, 'GET', `/v1/deliveries/${id}.${webhook.id}`);
    await stack.client.expect(200, 'GET', '/v1/deliveries?status=pending');
  });

  it('the typed client ends there and says so, or takes no part for the whole', async () => {
    await deliver();
    const client = createClient({
      baseUrl: stack.client.baseUrl,
      apiKey: stack.bootstrapKey,
      retries: 0,
    });
    for (const path of ['/v1/events', '/v1/deliveries'] as const) {
      let calls = 0;
      const onHistoryUnavailable = () => {
        calls += 1;
      };
      const seen: string[] = [];
      for await (const { id } of client.paginate(path, { onHistoryUnavailable })) seen.push(id);
      expect([seen.length, calls]).toEqual([1, 1]);
      const list = client.paginate(path);
      expect((await list.next()).done).toBe(false);
      await expect(list.next()).rejects.toMatchObject({ code: 'history_unavailable', status: 503 });
    }
  });

  it('the command line prints what there is, that the list ends there, and why', async () => {
    const id = await deliver();
    for (const noun of ['events', 'deliveries']) {
      const { stdout, stderr } = await runHookferry(noun, 'list');
      expect(stdout).toContain(id);
      expect(stderr).toContain('The list ends here, because the history');
    }
  });

  function runHookferry(...args: readonly string[]) {
    const env = { HOOKFERRY_URL: stack.client.baseUrl, HOOKFERRY_API_KEY: stack.bootstrapKey };
    return new Promise<{ readonly stdout: string; readonly stderr: string }>((resolve, reject) => {
      execFile(process.execPath, [CLI, ...args], { env }, (error, stdout, stderr) => {
        if (error) reject(error);
        else resolve({ stdout, stderr });
      });
    });
  }

  it('a redelivery is 503 with nothing half done, and is carried out when it is asked again', async () => {
    const path = `/v1/deliveries/${old.id}/redeliver`;
    const again = { 'idempotency-key': 'send-old-again' };
    for (let times = 0; times < 2; times += 1) {
      const response = await stack.client.request('POST', path, undefined, again);
      expect([response.body, response.headers.get('retry-after')]).toEqual([refused, '5']);
    }
    expect(await keysLeft()).toEqual([]);
    expect(await stack.redis.client.zcard('{bull}:deliveries:prioritized')).toBe(0);

    await stack.postgres?.start();
    await until(async () => {
      const { status } = await stack.client.request('POST', path, undefined, again);
      return status === 202 ? true : undefined;
    });
    await stack.client.request('POST', path, undefined, again);
    await receiver.waitFor(2);
    await untilMoved();
    expect(receiver.requests).toHaveLength(2);
    expect((await stack.client.readDelivery(old.id)).attempts.map(({ trigger }) => trigger)).toEqual([
      'schedule',
      'manual',
    ]);
  });

  async function untilInterrupted(): Promise<void> {
    await stack.workers[0]?.waitForLine(({ message }) => message === 'job.interrupted');
  }

  it('replays wait, and go on when it is back, to a webhook too that was made after all had moved', async () => {
    const late = await Receiver.start();
    const { id } = await stack.client.register(late.url);
    const start = async (webhookId: string, mode: string) => {
      const since = '2026-01-01T00:00:00Z';
      const { body } = await stack.client.expect<Replay>(202, 'POST', `/v1/webhooks/${webhookId}/replays`, {
        since,
        mode,
      });
      return body.id;
    };
    const ids = [await start(id, 'missing'), await start(webhook.id, 'all')];
    const read = async (replay: string) =>
      (await stack.client.expect<Replay>(200, 'GET', `/v1/replays/${replay}`)).body;
    await untilInterrupted();
    for (const replay of ids) expect(await read(replay)).toMatchObject({ status: 'counting', enqueued: 0 });
    expect([late.requests.length, receiver.requests.length]).toEqual([0, 1]);

    await stack.postgres?.start();
    for (const replay of ids) {
      await until(async () => ((await read(replay)).status === 'done' ? true : undefined));
      expect(await read(replay)).toMatchObject({ found: 1, enqueued: 1 });
    }
    await late.waitFor(1);
    await receiver.waitFor(2);
    await untilMoved();
    expect([late.requests.length, receiver.requests.length]).toEqual([1, 2]);
    expect(late.requests[0]?.body).toEqual(receiver.requests[0]?.body);
    await late.stop();
  });

  it('an id that has moved is known, and is not sent again', async () => {
    await stack.client.expect(200, 'POST', '/v1/events', OLD);
    const { body } = await stack.client.expect<{ code: string }>(409, 'POST', '/v1/events', {
      ...OLD,
      data: { ...QUICK_WIN.data, volume: 99 },
    });
    expect(body.code).toBe('event_id_conflict');
    await deliver();
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'] === OLD.id)).toEqual([true, false]);
    expect(await stack.redis.client.exists(keys.ended)).toBe(1);
  });

  it('the erasure of an account waits, and ends when it is back', async () => {
    const { client } = stack;
    const id = 'customer-1';
    await client.expect(201, 'POST', '/v1/accounts', { id });
    await client.expect(202, 'DELETE', `/v1/accounts/${id}`);
    await untilInterrupted();
    await client.expect(200, 'GET', `/v1/accounts/${id}`);
    await stack.postgres?.start();
    const gone = await until(async () => {
      const { status } = await client.request('GET', `/v1/accounts/${id}`);
      return status === 200 ? undefined : status;
    });
    expect(gone).toBe(404);
  });
});
