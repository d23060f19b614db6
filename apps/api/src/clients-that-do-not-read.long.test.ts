import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { LONGEST_TURN_MS } from '@hookferry/core/accounts/heavy-turns';
import { createClosables } from '@hookferry/core/testing/closables';
import { inTime } from '@hookferry/core/testing/in-time';
import request from 'supertest';
import { startTestApi, type TestApi } from './testing/start-test-api';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** A turn that nobody ends is over after five seconds. Here it blocks others for ever: how fast a machine is does not matter. */
beforeEach(() => {
  const { setTimeout: start } = globalThis;
  const startOthers = (call: () => void, ms?: number, ...args: []) =>
    ms === LONGEST_TURN_MS ? start(() => {}, 0) : start(call, ms, ...args);
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(startOthers);
});
afterEach(() => jest.restoreAllMocks());

async function open(api: TestApi): Promise<Socket> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  socket.on('error', () => {});
  willClose({ close: () => socket.destroy() });
  await once(socket, 'connect');
  return socket;
}

function get(path: string, key?: string): string {
  const authorization = key === undefined ? '' : `authorization: Bearer ${key}\r\n`;
  return `GET ${path} HTTP/1.1\r\nhost: x\r\n${authorization}\r\n`;
}

/** An account whose page of webhooks has some MB. */
async function withFatWebhooks(api: TestApi): Promise<string> {
  const { key } = await api.issueKey();
  const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`m${i}`, 'm'.repeat(500)]));
  const headers = Object.fromEntries(Array.from({ length: 18 }, (_, i) => [`x-h${i}`, 'h'.repeat(1_000)]));
  let next = 0;
  const register = async () => {
    while (next < 200) {
      const url = `https://hooks.example.com/${next++}`;
      const webhook = { url, events: ['keyword.quick_win'], metadata, headers };
      const { status } = await request(api.url)
        .post('/v1/webhooks')
        .auth(key, { type: 'bearer' })
        .send(webhook);
      expect(status).toBe(201);
    }
  };
  await Promise.all(Array.from({ length: 8 }, register));
  return key;
}

const LIST = '/v1/webhooks?limit=200';

/** Asks, and reads no more than the first bytes of the answer. */
async function askAndNotRead(api: TestApi, path: string, key: string): Promise<Socket> {
  const socket = (await open(api)).pause();
  socket.write(get(path, key));
  await once(socket, 'readable');
  return socket;
}

async function listOf(api: TestApi, key: string) {
  const asked = request(api.url).get(LIST).auth(key, { type: 'bearer' });
  const { status, headers } = await inTime(Promise.resolve(asked), () => 'no response');
  return { status, headers, bytes: Number(headers['content-length']) };
}

describe('lists behind a stream, on one connection', () => {
  it.each([16, 100])("let another account's list be answered: %d of them", async (lists) => {
    const api = willClose(await startTestApi());
    const [{ key }, other] = [await api.issueKey(), await api.issueKey()];
    const socket = (await open(api)).pause();
    socket.write(get('/v1/stream?max_seconds=600', key) + get('/v1/webhooks?limit=1', key).repeat(lists));
    await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
    const { status } = await listOf(api, other.key);
    expect(status).toBe(200);
    // What may wait has not begun; of far more than that nothing is kept.
    expect(socket.closed).toBe(lists > 16);
    const routes = api.signals.named('request.completed').map(({ route }) => route);
    expect(routes.filter((route) => route === '/v1/webhooks')).toHaveLength(1);
  });
});

describe('large answers that nobody reads', () => {
  it('hold up nobody, are bounded for each account, and do not keep it from publishing', async () => {
    const api = willClose(await startTestApi({ MAX_EVENT_BYTES: String(256 * 1024) }));
    const key = await withFatWebhooks(api);
    const sockets: Socket[] = [];
    const { bytes } = await listOf(api, key);
    for (let room = 32 * 1024 * 1024; room >= bytes; room -= bytes) {
      sockets.push(await askAndNotRead(api, LIST, key));
    }
    const other = await api.issueKey();
    const ofOther = await listOf(api, other.key);
    expect(ofOther.status).toBe(200);

    const refused = await listOf(api, key);
    expect({ status: refused.status, retryAfter: refused.headers['retry-after'] }).toEqual({
      status: 429,
      retryAfter: '1',
    });
    const event = { type: 'keyword.quick_win', data: { keyword: 'a', position: 1, volume: 1 } };
    const published = await request(api.url).post('/v1/events').auth(key, { type: 'bearer' }).send(event);
    expect(published.status).toBe(202);

    for (const socket of sockets) socket.destroy();
    let again = refused;
    while (again.status === 429) again = await listOf(api, key);
    expect(again.status).toBe(200);
  });
});

it('hangs up on a client without a key that sends more requests ahead than may wait', async () => {
  const api = willClose(await startTestApi());
  const socket = await open(api);
  socket.resume().write(get('/openapi.json').repeat(100));
  await once(socket, 'close');
  expect(api.signals.named('connection.refused')).toMatchObject([{ reason: 'pipelined' }]);
});
