import { EVENTS_QUEUE } from '@hookferry/core/domain/queues';
import { createClosables } from '@hookferry/core/testing/closables';
import { Queue } from 'bullmq';
import { ApiClient } from '../support/api-client';
import { readDatabase } from '../support/read-database';
import { Receiver } from '../support/receiver';
import { runCli } from '../support/run-cli';
import { QUICK_WIN } from '../support/samples';
import { Stack, type StackOptions } from '../support/stack';
import { until } from '../support/until';

const MARKER = 'marker-5d1f';
const MARKED = { ...QUICK_WIN, data: { ...QUICK_WIN.data, keyword: MARKER } };

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function startStack(options: StackOptions = {}): Promise<Stack> {
  const stack = await Stack.start(options);
  willClose({ close: () => stack.stop() });
  return stack;
}

async function startReceiver(...args: Parameters<typeof Receiver.start>): Promise<Receiver> {
  const receiver = await Receiver.start(...args);
  willClose({ close: () => receiver.stop() });
  return receiver;
}

describe("an event's payload", () => {
  const erase = ({ client }: Stack, id: string) => client.expect(204, 'DELETE', `/v1/events/${id}/payload`);

  async function publishMarked({ client }: Stack, id?: string): Promise<string> {
    const body = { ...MARKED, ...(id === undefined ? {} : { id }) };
    const headers = { 'idempotency-key': 'once' };
    return (await client.expect<{ id: string }>(202, 'POST', '/v1/events', body, headers)).body.id;
  }

  it('is nowhere in Redis any more, and a retry that was pending is cancelled instead of sent', async () => {
    const stack = await startStack({ environment: { RETRY_SCHEDULE: '1h' } });
    const { client, redis } = stack;
    const receiver = await startReceiver((request) => ({
      status: 500,
      headers: { 'x-echo': MARKER },
      body: request.body.toString(),
    }));
    const held = await client.register(receiver.url);
    await client.expect(200, 'POST', `/v1/webhooks/${held.id}/disable`);
    const webhook = await client.register(receiver.url);
    const eventId = await publishMarked(stack, 'mine');
    const failed = await until(async () => {
      const [delivery] = await client.listDeliveries(webhook.id);
      return delivery?.attempt_count === 1 ? delivery : undefined;
    });
    await client.waitForStatus(held.id, eventId, 'held');
    // The retry is due now, and there is nobody to send it before the payload is erased.
    await stack.workers[0]?.end('SIGTERM');
    await client.expect(202, 'POST', `/v1/deliveries/${failed.id}/redeliver`);
    expect(await readDatabase(redis.client)).toContain(MARKER);

    await erase(stack, eventId);
    expect(await readDatabase(redis.client)).not.toContain(MARKER);
    const sent = receiver.requests.length;
    await stack.startWorker();
    const cancelled = await client.waitForStatus(webhook.id, eventId, 'cancelled');
    expect(cancelled).toMatchObject({ id: failed.id, attempts: [{ number: 1, outcome: 'http_5xx' }] });
    await client.expect(200, 'POST', `/v1/webhooks/${held.id}/enable`);
    await client.waitForStatus(held.id, eventId, 'cancelled');
    expect(receiver.requests).toHaveLength(sent);

    const { body } = await client.expect<object>(200, 'GET', `/v1/events/${eventId}`);
    expect(body).toMatchObject({ id: eventId, data: null, payload_erased_at: expect.any(String) });
    const again = await client.request('POST', `/v1/deliveries/${failed.id}/redeliver`);
    expect(again).toMatchObject({ status: 409, body: { code: 'payload_erased' } });
    expect(await readDatabase(redis.client)).not.toContain(MARKER);
  });

  it('does not come back by a response that was on its way when it was erased', async () => {
    const stack = await startStack();
    const { client, redis } = stack;
    let respond = (): void => {};
    const receiver = await startReceiver(
      (request) =>
        new Promise((resolve) => {
          respond = () => resolve({ status: 200, body: request.body.toString() });
        }),
    );
    const webhook = await client.register(receiver.url);
    const eventId = await publishMarked(stack);
    await receiver.waitFor(1);
    await erase(stack, eventId);
    respond();
    await client.waitForStatus(webhook.id, eventId, 'delivered');
    expect(await readDatabase(redis.client)).not.toContain(MARKER);
  });

  it('goes from the queue, too, and the event goes to nobody', async () => {
    const stack = await startStack({ workers: 0 });
    const { client, redis } = stack;
    const receiver = await startReceiver();
    const webhook = await client.register(receiver.url);
    // An event for so many receivers is fanned out by a worker.
    await Promise.all(Array.from({ length: 32 }, (_, i) => client.register(`${receiver.url}/${i}`)));
    const eventId = await publishMarked(stack);
    await erase(stack, eventId);
    expect(await readDatabase(redis.client)).not.toContain(MARKER);

    const worker = await stack.startWorker();
    await worker.waitForLine(({ message }) => message === 'event.fanned_out');
    const { body } = await client.expect<object>(200, 'GET', `/v1/events/${eventId}`);
    expect(body).toMatchObject({ data: null, deliveries: { total: 0 } });
    expect(await client.listDeliveries(webhook.id)).toEqual([]);
    expect(receiver.requests).toEqual([]);
  });
});

describe('an account', () => {
  // Short, so that a killed worker's jobs are taken over soon.
  const LOCKED_FOR = { JOB_LOCK_DURATION: '5s' };

  /** An account, and a client with a key of its own. */
  async function createAccount({ client }: Stack, id: string): Promise<ApiClient> {
    await client.expect(201, 'POST', '/v1/accounts', { id });
    const { body } = await client.expect<{ key: string }>(
      201,
      'POST',
      '/v1/api-keys',
      {
        name: id,
        scopes: ['webhooks:read', 'webhooks:write', 'events:write', 'deliveries:read', 'deliveries:write'],
      },
      { 'x-account-id': id },
    );
    return new ApiClient(client.baseUrl, body.key);
  }

  async function publishMany(client: ApiClient, count: number): Promise<void> {
    for (let published = 0; published < count; published += 500) {
      const events = Array.from({ length: 500 }, () => MARKED);
      await client.expect(207, 'POST', '/v1/events/batch', { events });
    }
  }

  // BullMQ's own record of what went through a queue (ids, the last 10,000 of each), and looks at gates, which end by
  // themselves; health of a webhook that was deleted before, if it was noted late, expires; the operator's audit log says
  // that the account was erased.
  const MAY_STAY =
    /^(bull:[a-z-]+:events|bull:gates:.*|health:.*|erased-accounts:.*|audit-log:[{]default[}])$/;

  async function keysThatName(stack: Stack, texts: readonly string[]): Promise<string[]> {
    const database = JSON.parse(await readDatabase(stack.redis.client)) as [string, unknown][];
    return database
      .filter(([name]) => !MAY_STAY.test(name))
      .filter((entry) => texts.some((text) => JSON.stringify(entry).includes(text)))
      .map(([name]) => name);
  }

  it("is gone with all that it owns, also when a worker is killed halfway, and another's is not", async () => {
    const COUNT = 1_000;
    const stack = await startStack({ environment: { ...LOCKED_FOR, RETRY_SCHEDULE: '1h' } });
    const receiver = await startReceiver();
    const broken = await startReceiver(() => 500);
    const silent = await startReceiver(() => 'never');
    const [acme, other] = [await createAccount(stack, 'acme-7f'), await createAccount(stack, 'other-7f')];
    const kept = await other.register(receiver.url);
    await other.publish(MARKED.type, MARKED.data);
    const webhooks = [await acme.register(receiver.url), await acme.register(receiver.url)];
    const failing = await acme.register(broken.url, ['brief.created']);
    const held = await acme.register(receiver.url);
    const gone = await acme.register(receiver.url);
    await acme.expect(200, 'POST', `/v1/webhooks/${held.id}/disable`);
    await publishMany(acme, COUNT);
    await acme.publish('brief.created', { brief_id: 'brf_1', title: 'Red shoes' });
    const [first] = webhooks;
    await receiver.waitFor(3 * COUNT);
    await until(async () =>
      (await acme.listDeliveries(failing.id))[0]?.attempt_count === 1 ? true : undefined,
    );
    await acme.expect(204, 'DELETE', `/v1/webhooks/${gone.id}`);
    await acme.expect(202, 'POST', `/v1/webhooks/${String(first?.id)}/replays`, {
      since: '2026-01-01T00:00:00Z',
      mode: 'all',
      rate: 1,
    });
    // What a producer has put off, and what was no event.
    const events = willClose(new Queue(EVENTS_QUEUE, { connection: stack.redis.client }));
    const data = { account_id: 'acme-7f', ...MARKED };
    await events.add(MARKED.type, data, { delay: 3_600_000 });
    await events.add('no.such_event', { ...data, type: 'no.such_event' });
    await stack.workers[0]?.waitForLine(({ message }) => message === 'event.rejected');

    // An attempt that is under way: as long as it is, its event can't be gone.
    const slow = await acme.register(silent.url, ['brief.created']);
    await acme.expect(200, 'PATCH', `/v1/webhooks/${slow.id}`, { timeout_ms: 60_000 });
    await acme.publish('brief.created', { brief_id: 'brf_2', title: 'Blue shoes' });
    await silent.waitFor(1);

    const ids = [...webhooks, failing, held, gone, slow].map(({ id }) => id);
    expect((await keysThatName(stack, ['acme-7f', ...ids])).length).toBeGreaterThan(COUNT);

    const { body } = await stack.client.expect<object>(202, 'DELETE', '/v1/accounts/acme-7f');
    expect(body).toMatchObject({ status: 'erasing' });
    expect((await acme.request('GET', '/v1/webhooks')).status).toBe(401);
    const asAcme = { 'x-account-id': 'acme-7f' };
    expect((await stack.client.request('POST', '/v1/events', MARKED, asAcme)).status).toBe(404);
    // Those that the worker takes within a second are stored, and removed with the others.
    await until(async () => {
      await events.add(MARKED.type, data);
      return stack.workers[0]?.log.find(({ message }) => message === 'event.dropped');
    });
    const eventsLeft = async () => {
      const read = await stack.client.request<{ erasure?: { events_left: number } }>(
        'GET',
        '/v1/accounts/acme-7f',
      );
      return read.body.erasure?.events_left;
    };
    await until(async () => (Number(await eventsLeft()) < COUNT ? true : undefined));
    await stack.workers[0]?.end('SIGKILL');
    const left = Number(await eventsLeft());
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(COUNT);

    await stack.startWorker();
    const finished = await runCli(stack.redis.url, 'accounts', 'delete', 'acme-7f', '--yes');
    expect(finished).toMatchObject({ exitCode: 0, stdout: 'Erased the account acme-7f.\n' });
    expect((await stack.client.request('GET', '/v1/accounts/acme-7f')).status).toBe(404);
    expect(await keysThatName(stack, ['acme-7f', ...ids])).toEqual([]);
    expect((await stack.client.request('POST', '/v1/accounts', { id: 'acme-7f' })).status).toBe(409);

    expect(await other.listDeliveries(kept.id)).toMatchObject([{ status: 'delivered' }]);
    await other.publish(MARKED.type, MARKED.data);
    await until(async () => ((await other.listDeliveries(kept.id)).length === 2 ? true : undefined));
    const failures = stack.workers
      .flatMap(({ log }) => log)
      .filter(({ message }) => message === 'job.failed');
    expect(failures).toEqual([]);
  }, 300_000);
});
