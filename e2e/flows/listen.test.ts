import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { verify } from '@hookferry/receiver';
import { ListenProgram } from '../packages/cli/listen-program';
import { type ReceivedRequest, Receiver, type Reply } from '../support/receiver';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const TYPE = 'keyword.quick_win';
// Each of a thousand goes there and back through four processes before the next one may.
const LONG_MS = 240_000;
// Documented are three seconds; the rest is for a busy machine.
const WITHIN_MS = 10_000;
const DATA = { keyword: 'red shoes', position: 3, volume: 10 };

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start();
});
afterAll(() => stack?.stop());

const running: ListenProgram[] = [];
const receivers: Receiver[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((program) => program.end()));
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});

async function startReceiver(reply?: (request: ReceivedRequest, count: number) => Reply): Promise<Receiver> {
  const receiver = await Receiver.start(reply);
  receivers.push(receiver);
  return receiver;
}

/** A listener of its own, by its name. */
function listen(name: string, forward: string, ...args: readonly string[]): ListenProgram {
  const connection = { url: stack.client.baseUrl, key: stack.bootstrapKey };
  const program = new ListenProgram(['--forward', forward, '--name', name, ...args], connection);
  running.push(program);
  return program;
}

/** The event goes to this listener alone. */
async function publish(name: string, data: object = DATA): Promise<string> {
  const event = { type: TYPE, data, webhook_ids: [`listener.${name}`] };
  const { body } = await stack.client.expect<{ id: string }>(202, 'POST', '/v1/events', event);
  return body.id;
}

interface ListenerView {
  readonly id: string;
  readonly status: string;
  readonly disabled_reason?: string;
  readonly description?: string;
}

async function read(name: string) {
  return await stack.client.request<ListenerView>('GET', `/v1/webhooks/listener.${name}`);
}

it('forwards what a worker would send: the same bytes and headers, to the path and the query', async () => {
  const receiver = await startReceiver(() => ({
    status: 200,
    headers: { 'content-type': 'application/octet-stream' },
    body: 'taken',
  }));
  await listen('exact', `${receiver.url}?a=1&b=%20`).ready();
  const { body } = await stack.client.request<{ secret: string }>(
    'GET',
    '/v1/webhooks/listener.exact/secret',
  );
  const id = await publish('exact');
  const [request] = await receiver.waitFor(1);
  expect(request).toMatchObject({ method: 'POST', path: '/hook?a=1&b=%20' });
  expect(request?.body.toString()).toBe(JSON.stringify({ type: TYPE, data: DATA }));
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    'webhook-id': id,
    'x-service-attempt': '1',
    host: new URL(receiver.url).host,
  });
  const { headers = {}, body: raw = Buffer.alloc(0) } = request ?? {};
  expect(await verify({ body: raw, headers, secret: body.secret })).toMatchObject({ type: TYPE, data: DATA });
  const delivery = await stack.client.waitForStatus('listener.exact', id, 'delivered');
  expect(delivery).toMatchObject({ attempt_count: 1 });
});

it('forwards by the user and password of the URL, and tells neither them nor the query', async () => {
  const receiver = await startReceiver();
  const url = new URL(`${receiver.url}?token=very-secret`);
  Object.assign(url, { username: 'me', password: 'top-secret' });
  const program = await listen('credentials', url.href).ready();
  await publish('credentials');
  const [request] = await receiver.waitFor(1);
  expect(request).toMatchObject({
    path: '/hook?token=very-secret',
    headers: { authorization: `Basic ${Buffer.from('me:top-secret').toString('base64')}` },
  });
  expect((await read('credentials')).body.description).toBe(`hookferry listen --forward ${receiver.url}`);
  await program.forwarded(1);
  expect(program.said).toContain(`→ ${receiver.url} `);
  expect(program.said + program.raw).not.toContain('secret');
});

it('goes on where it was when it is killed: a receiver that fails twice accepts the third attempt', async () => {
  const receiver = await startReceiver((_, count) => (count < 3 ? 500 : 204));
  const flags = ['--retry-schedule', '1s,1s,1s'];
  const first = await listen('killed', receiver.url, ...flags).ready();
  const id = await publish('killed');
  const failed = { event_id: id, attempt: 1, outcome: 'http_5xx', status: 500 };
  expect((await first.forwarded(1))[0]).toMatchObject(failed);
  await until(async () => {
    const [delivery] = await stack.client.listDeliveries('listener.killed');
    return delivery?.attempt_count === 1 ? true : undefined;
  });
  await first.end('SIGKILL');
  const whileAway = await publish('killed');
  const second = await listen('killed', receiver.url, ...flags).ready();
  const delivery = await stack.client.waitForStatus('listener.killed', id, 'delivered');
  await stack.client.waitForStatus('listener.killed', whileAway, 'delivered');
  expect(receiver.requests.filter(({ headers }) => headers['webhook-id'] === id).length).toBe(
    delivery.attempt_count,
  );
  expect(second.lines.map(({ event_id }) => event_id)).toEqual(expect.arrayContaining([id, whileAway]));
});

it('says that nothing listens, on the record as well, and the next attempt arrives', async () => {
  const receiver = await startReceiver();
  await receiver.stop();
  const program = await listen('refused', receiver.url, '--retry-schedule', '1s,1s,1s,1s').ready();
  const id = await publish('refused');
  const [line] = await program.forwarded(1);
  expect(line).toMatchObject({ outcome: 'connect_refused', status: null });
  expect(line?.error).toContain('connection_refused');
  await receiver.listen();
  const delivery = await stack.client.waitForStatus('listener.refused', id, 'delivered');
  const { body } = await stack.client.request<{ attempts: readonly { outcome: string }[] }>(
    'GET',
    `/v1/deliveries/${delivery.id}`,
  );
  expect(body.attempts[0]).toMatchObject({ outcome: 'connect_refused' });
});

it(
  'brings 1,000 events to a strict listener one by one, in order, over a restart of its process',
  async () => {
    const receiver = await startReceiver();
    const flags = ['--ordering', 'strict'];
    const first = await listen('strict', receiver.url, ...flags).ready();
    const ids: string[] = [];
    for (let batch = 0; batch < 10; batch += 1) {
      const event = { type: TYPE, data: DATA, webhook_ids: ['listener.strict'] };
      const { body } = await stack.client.expect<{ data: readonly { id: string }[] }>(
        207,
        'POST',
        '/v1/events/batch',
        { events: Array.from({ length: 100 }, () => event) },
      );
      ids.push(...body.data.map(({ id }) => id));
    }
    await receiver.waitFor(300);
    await first.end('SIGKILL');
    await listen('strict', receiver.url, ...flags).ready();
    const inOrder = await until(async () => {
      const seen = [...new Set(receiver.requests.map(({ headers }) => String(headers['webhook-id'])))];
      return seen.length === ids.length ? seen : undefined;
    });
    expect(inOrder).toEqual(ids);
    // The one that was under way when it was killed may come again, and no other.
    expect(receiver.requests.length).toBeLessThanOrEqual(ids.length + 1);
  },
  LONG_MS,
);

it('gets nothing of an event whose payload is erased while it waits behind another one, and all others', async () => {
  let respondFirst = (_status: number) => {};
  const first = new Promise<number>((resolve) => {
    respondFirst = resolve;
  });
  const receiver = await startReceiver((_, count) => (count === 1 ? first : 204));
  await listen('erased', receiver.url, '--parallel', '1').ready();
  const sent = [await publish('erased')];
  await receiver.waitFor(1);
  const erased = await publish('erased');
  sent.push(await publish('erased'));
  // They are handed over within moments, and wait for the first one there.
  await wait(1_000);
  await stack.client.expect(204, 'DELETE', `/v1/events/${erased}/payload`);
  respondFirst(204);
  await stack.client.waitForStatus('listener.erased', erased, 'cancelled');
  for (const id of sent) await stack.client.waitForStatus('listener.erased', id, 'delivered');
  expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual(sent);
});

it('lets one slow response delay no other', async () => {
  const never = new Promise<number>(() => {});
  const receiver = await startReceiver(({ body }) => (body.includes('slow') ? never : 204));
  await listen('parallel', receiver.url, '--timeout-ms', '20000').ready();
  await publish('parallel', { ...DATA, keyword: 'slow' });
  await receiver.waitFor(1);
  const others = await Promise.all(Array.from({ length: 20 }, () => publish('parallel')));
  for (const id of others) {
    expect(await stack.client.waitForStatus('listener.parallel', id, 'delivered')).toMatchObject({
      attempt_count: 1,
    });
  }
});

it('is gone when it is ended, and holds what comes while it is lost', async () => {
  const receiver = await startReceiver();
  const program = await listen('ended', receiver.url).ready();
  expect(await read('ended')).toMatchObject({ status: 200, body: { status: 'enabled' } });
  await program.end('SIGKILL');
  const lost = await until(async () => {
    const { body } = await read('ended');
    return body.status === 'disabled' ? body : undefined;
  });
  expect(lost.disabled_reason).toBe('disconnected');
  const id = await publish('ended');
  await stack.client.waitForStatus('listener.ended', id, 'held');
  const again = await listen('ended', receiver.url).ready();
  await stack.client.waitForStatus('listener.ended', id, 'delivered');
  expect(await again.end('SIGINT')).toBe(130);
  expect((await read('ended')).status).toBe(404);
});

it('tells the one that another takes the place of, and does not fight for it', async () => {
  const receiver = await startReceiver();
  const first = await listen('twice', receiver.url).ready();
  await listen('twice', receiver.url).ready();
  expect(await first.exited()).toBe(5);
  expect(first.said).toContain('has taken over');
  const id = await publish('twice');
  await stack.client.waitForStatus('listener.twice', id, 'delivered');
});

it('ends when somebody deletes the listener, and does not make it anew', async () => {
  const receiver = await startReceiver();
  const program = await listen('deleted', receiver.url).ready();
  await stack.client.expect(204, 'DELETE', '/v1/webhooks/listener.deleted');
  expect(await program.exited()).toBe(5);
  expect((await read('deleted')).status).toBe(404);
});

it('connects again when the API is killed, and loses nothing', async () => {
  const receiver = await startReceiver();
  const { api, client } = await stack.startApi();
  const connection = { url: client.baseUrl, key: stack.bootstrapKey };
  const program = new ListenProgram(['--forward', receiver.url, '--name', 'restart'], connection);
  running.push(program);
  await program.ready();
  await api.end('SIGKILL');
  const id = await publish('restart');
  await stack.startApi({ API_PORT: new URL(client.baseUrl).port });
  await program.ready(2);
  await stack.client.waitForStatus('listener.restart', id, 'delivered');
  expect(receiver.requests.length).toBe(1);
});

it('prints the same secret before, while and after it listens', async () => {
  const receiver = await startReceiver();
  const connection = { url: stack.client.baseUrl, key: stack.bootstrapKey };
  const printed = async () => {
    const program = new ListenProgram(
      ['--forward', receiver.url, '--name', 'secret', '--print-secret'],
      connection,
    );
    expect(await program.exited()).toBe(0);
    return program.raw;
  };
  const before = await printed();
  expect(before).toContain('whsec_');
  const program = await listen('secret', receiver.url).ready();
  expect(await printed()).toBe(before);
  await program.end();
  expect(await printed()).toBe(before);
});

it('ends the stream of a listener whose key is revoked, within moments and whatever it says', async () => {
  const { body: key } = await stack.client.expect<{ id: string; key: string }>(201, 'POST', '/v1/api-keys', {
    name: 'laptop',
    scopes: ['webhooks:read', 'webhooks:write'],
  });
  const headers = { authorization: `Bearer ${key.key}` };
  const { body: listener } = await stack.client.expect<{ id: string }>(
    201,
    'POST',
    '/v1/listeners',
    { name: 'revoked', events: [TYPE] },
    headers,
  );
  const response = await fetch(`${stack.client.baseUrl}/v1/listeners/${listener.id}/stream`, { headers });
  const lines = createInterface({ input: Readable.fromWeb(response.body as never) })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value || '{}');
  const { type, stream } = await next();
  expect(type).toBe('ready');
  // Somebody else who may, in its place: that it is alive does not let it go on.
  const alive = setInterval(() => {
    const path = `/v1/listeners/${listener.id}/responses`;
    void stack.client.request('POST', path, { stream, responses: [] });
  }, 1_000);
  const revokedAt = Date.now();
  await stack.client.expect(204, 'DELETE', `/v1/api-keys/${key.id}`);
  const end = await until(async () => {
    const line = await next();
    return line.type === undefined ? undefined : line;
  });
  clearInterval(alive);
  expect(end).toEqual({ type: 'end', reason: 'unauthenticated' });
  expect(Date.now() - revokedAt).toBeLessThan(WITHIN_MS);
  await stack.client.expect(204, 'DELETE', `/v1/webhooks/${listener.id}`);
});
