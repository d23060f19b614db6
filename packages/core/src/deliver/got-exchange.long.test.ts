import type { RequestListener } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { SendResult } from '../domain/transport';
import { buildGuard } from '../testing/build-guard';
import { findClosedPort, type LocalServer, startHttpServer, startTcpServer } from '../testing/local-server';
import { standStill } from '../testing/stand-still';
import { TransportScene } from '../testing/transport-scene';
import type { ResolveName } from './egress/resolve-name';
import { DirectRoute, type Route } from './egress/routes';
import { classifyNetworkError, describeNetworkError } from './got-exchange';

const SHORT_MS = 100;

const scene = new TransportScene();
afterEach(scene.clear);

const thanks: RequestListener = (_request, response) => response.end('thanks');
const startReceiver = (answer: (...exchange: Parameters<RequestListener>) => unknown = thanks) =>
  scene.startReceiver(answer);

/** A receiver of which no more is known than what to do with the n-th chunk of a connection's data. */
async function startRawReceiver(answer: (socket: Socket, chunk: number, connection: number) => unknown) {
  let connections = 0;
  const server: LocalServer = await startTcpServer((socket) => {
    connections += 1;
    const connection = connections;
    let chunks = 0;
    socket.on('data', () => {
      chunks += 1;
      answer(socket, chunks, connection);
    });
  });
  return scene.willClose(server);
}

const byName = (resolveName: ResolveName): Route => new DirectRoute(buildGuard({ resolveName }));
const toLoopback = byName(async () => [{ address: '127.0.0.1', family: 4, ttlSeconds: 0 }]);
const timingsOf = (result: SendResult) => (result.kind === 'unsent' ? undefined : result.timings);
const MS = expect.any(Number);

describe('the timings of a result', () => {
  it('have the look-up, the connection and the first byte of a request over a new connection', async () => {
    const { port } = await startReceiver();
    const result = await scene.sender({ route: toLoopback })(`http://hooks.example.com:${port}/`);
    expect(timingsOf(result)).toEqual({ dnsMs: MS, connectMs: MS, firstByteMs: MS });
  });

  it('have no look-up for a literal address', async () => {
    const { port } = await startReceiver();
    expect(timingsOf(await scene.sender()(`http://127.0.0.1:${port}/`))).toEqual({
      connectMs: MS,
      firstByteMs: MS,
    });
  });

  it('have the first byte alone over a connection that was kept alive', async () => {
    const { port } = await startReceiver();
    const send = scene.sender({ route: toLoopback });
    await send(`http://hooks.example.com:${port}/`);
    expect(timingsOf(await send(`http://hooks.example.com:${port}/`))).toEqual({ firstByteMs: MS });
  });

  it('have the wait for the first byte, however long the body takes', async () => {
    const { port } = await startReceiver(async (_request, response) => {
      await wait(SHORT_MS);
      response.end('thanks');
    });
    const { firstByteMs = 0 } = timingsOf(await scene.sender()(`http://127.0.0.1:${port}/`)) ?? {};
    // A busy machine's timers are some milliseconds early now and then.
    expect(firstByteMs).toBeGreaterThan(SHORT_MS / 2);
  });

  it('have what was gone through of a request that failed', async () => {
    const url = `http://hooks.example.com:${await findClosedPort()}/`;
    expect(timingsOf(await scene.sender({ route: toLoopback })(url))).toEqual({ dnsMs: MS });
  });
});

describe('the address of the receiver', () => {
  /** A name that leads to these addresses, the first ones the first time. */
  const toAddresses = (...answers: (readonly string[])[]) => {
    const left = answers.values();
    return byName(async () =>
      [...(left.next().value ?? [])].map((address) => ({
        address,
        family: address.includes(':') ? 6 : 4,
        ttlSeconds: 0,
      })),
    );
  };
  const EVERY_ADDRESS = '0.0.0.0';
  const lastRequest: RequestListener = (_request, response) =>
    response.setHeader('connection', 'close').end('bye');

  it('is that of the URL, if that has one', async () => {
    const { port } = await startReceiver();
    const answered = { status: 200, remoteAddress: '127.0.0.1' };
    expect(await scene.sender()(`http://127.0.0.1:${port}/`)).toMatchObject(answered);
    const url = `http://[::1]:${await findClosedPort()}/`;
    expect(await scene.sender()(url)).toMatchObject({ kind: 'failed', remoteAddress: '::1' });
  });

  it('follows the answers of a name', async () => {
    const { port } = scene.willClose(await startHttpServer(lastRequest, EVERY_ADDRESS));
    const send = scene.sender({ route: toAddresses(['127.0.0.1'], ['127.0.0.2'], ['127.0.0.3']) });
    const url = `http://hooks.example.com:${port}/`;
    for (const remoteAddress of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
      expect(await send(url)).toMatchObject({ status: 200, remoteAddress });
    }
  });

  it('is that of the connection that is used again, whatever the name says by then', async () => {
    const { port, connectionCount } = scene.willClose(await startHttpServer(thanks, EVERY_ADDRESS));
    const send = scene.sender({ route: toAddresses(['127.0.0.2'], ['127.0.0.1']) });
    for (let i = 0; i < 3; i += 1) {
      expect(await send(`http://hooks.example.com:${port}/`)).toMatchObject({ remoteAddress: '127.0.0.2' });
    }
    expect(connectionCount()).toBe(1);
  });

  it('is the last one that was tried, if none of them took the connection', async () => {
    const url = `http://hooks.example.com:${await findClosedPort()}/`;
    const send = scene.sender({ route: toAddresses(['::1', '127.0.0.2', '127.0.0.3']) });
    expect(await send(url)).toMatchObject({ reason: 'connect_refused', remoteAddress: '127.0.0.3' });
  });

  it('is known of a receiver that hung up before it answered', async () => {
    const { port } = await startRawReceiver((socket) => socket.destroy());
    const send = scene.sender({ route: toAddresses(['127.0.0.1'], ['127.0.0.1']) });
    expect(await send(`http://hooks.example.com:${port}/`)).toMatchObject({
      kind: 'failed',
      remoteAddress: '127.0.0.1',
    });
  });

  it('is not known where none was tried', async () => {
    const send = scene.sender({ route: byName(() => new Promise(() => {})), connectTimeoutMs: SHORT_MS });
    expect(await send('http://hooks.example.com/')).toHaveProperty('remoteAddress', undefined);
  });
});

describe('the time for connecting', () => {
  it('ends a look-up that gets no answer', async () => {
    const send = scene.sender({ connectTimeoutMs: SHORT_MS, route: byName(() => new Promise(() => {})) });
    expect(await send('http://hooks.example.com/')).toEqual({
      kind: 'failed',
      reason: 'dns_error',
      error: 'No address in 100 ms.',
      timings: {},
    });
  });

  it('ends a connection that does not come about', async () => {
    const never: Route = {
      open: () => Object.assign(new Socket(), { connecting: true }),
      addressOf: () => undefined,
    };
    expect(await scene.sender({ connectTimeoutMs: SHORT_MS, route: never })('http://127.0.0.1/')).toEqual({
      kind: 'failed',
      reason: 'connect_timeout',
      error: 'No connection in 100 ms.',
      timings: {},
    });
  });

  it('ends a TLS handshake that gets no answer, and its connection', async () => {
    let closed: Promise<unknown> | undefined;
    const { port } = scene.willClose(
      await startTcpServer((socket) => {
        closed = new Promise((resolve) => socket.once('close', resolve));
        socket.resume();
      }),
    );
    expect(await scene.sender({ connectTimeoutMs: SHORT_MS })(`https://127.0.0.1:${port}/`)).toEqual({
      kind: 'failed',
      reason: 'tls_error',
      error: 'No TLS handshake in 100 ms.',
      timings: { connectMs: MS },
      remoteAddress: '127.0.0.1',
    });
    await closed;
  });

  it('is over when there is a connection: the answer has the rest of the time', async () => {
    const { port } = await startReceiver(async (_request, response) => {
      await wait(2 * SHORT_MS);
      response.end('thanks');
    });
    const send = scene.sender({ connectTimeoutMs: SHORT_MS });
    const url = `http://127.0.0.1:${port}/`;
    const onNewConnection = await send(url);
    const onKeptConnection = await send(url);
    const answered = { kind: 'responded', status: 200 };
    expect([onNewConnection, onKeptConnection]).toMatchObject([answered, answered]);
  });

  it('is within the whole time', async () => {
    const never: Route = {
      open: () => Object.assign(new Socket(), { connecting: true }),
      addressOf: () => undefined,
    };
    expect(await scene.sender({ timeoutMs: SHORT_MS, route: never })('http://127.0.0.1/')).toMatchObject({
      reason: 'connect_timeout',
      error: 'No connection in 100 ms.',
    });
  });
});

describe('the whole time', () => {
  it('goes on after connecting, and then ends the wait for the answer', async () => {
    const { port } = await startReceiver(() => {});
    const send = scene.sender({ connectTimeoutMs: SHORT_MS, timeoutMs: 2 * SHORT_MS });
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({
      reason: 'response_timeout',
      error: 'No full response in 200 ms.',
    });
  });

  it('is what the request says, if it says one', async () => {
    const { port } = await startReceiver(() => {});
    expect(await scene.sender()(`http://127.0.0.1:${port}/`, { timeoutMs: SHORT_MS })).toMatchObject({
      reason: 'response_timeout',
      error: 'No full response in 100 ms.',
    });
  });
});

describe('a process that stands still for longer than an attempt may take', () => {
  const limits = { timeoutMs: SHORT_MS };

  it('connects all the same', async () => {
    const { port } = await startReceiver();
    const result = scene.sender(limits)(`http://127.0.0.1:${port}/`);
    standStill(4 * SHORT_MS);
    expect(await result).toMatchObject({ kind: 'responded', status: 200 });
  });

  it.each([
    ['over a new connection', 0],
    ['over a connection that was kept alive', 1],
  ])('takes the response that has arrived meanwhile, %s', async (_which, sentBefore) => {
    let requests = 0;
    const { port } = await startRawReceiver((socket) => {
      requests += 1;
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nthanks');
      if (requests > sentBefore) standStill(4 * SHORT_MS);
    });
    const send = scene.sender(limits);
    for (let i = 0; i < sentBefore; i += 1) await send(`http://127.0.0.1:${port}/`);
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 200, body: 'thanks' });
  });

  it('gives up a receiver that is silent afterwards as well', async () => {
    const { port } = await startRawReceiver(() => standStill(4 * SHORT_MS));
    expect(await scene.sender(limits)(`http://127.0.0.1:${port}/`)).toMatchObject({
      kind: 'failed',
      reason: 'response_timeout',
      error: 'No full response in 100 ms.',
    });
  });
});

describe('a connection that was kept alive, and that its receiver closes as it is used again', () => {
  const OK = 'HTTP/1.1 204 No Content\r\n\r\n';
  // A busy machine hears of it late.
  const soon = { staleWithinMs: 60_000 };

  it.each([
    ['a hang-up', (socket: Socket) => socket.destroy()],
    ['a reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('is replaced by a new one at once, after %s', async (_what, close) => {
    const server = await startRawReceiver((socket, chunk) =>
      chunk === 1 ? socket.write(OK) : close(socket),
    );
    const send = scene.sender(soon);
    const url = `http://127.0.0.1:${server.port}/`;
    expect(await send(url)).toMatchObject({ status: 204 });
    expect(await send(url)).toMatchObject({
      kind: 'responded',
      status: 204,
      timings: { connectMs: MS, firstByteMs: MS },
    });
    expect(server.connectionCount()).toBe(2);
  });

  it('is given the same request again', async () => {
    const received: unknown[] = [];
    const server = await startReceiver(async (request, response) => {
      const { url, headers } = request;
      const { connection: _connection, ...asked } = headers;
      received.push({ url, headers: asked, body: await text(request) });
      if (received.length === 2) request.socket.destroy();
      else response.writeHead(204).end();
    });
    const send = scene.sender(soon);
    const url = `http://127.0.0.1:${server.port}/hooks?a=1`;
    const request = { headers: { 'webhook-id': 'evt_1' }, body: '{"data":"Zoë"}' };
    await send(url);
    expect(await send(url, request)).toMatchObject({ status: 204 });
    expect(received).toHaveLength(3);
    expect(received[2]).toEqual(received[1]);
    expect(received[2]).toMatchObject({ url: '/hooks?a=1', headers: request.headers, body: request.body });
  });

  it('is replaced once, not again and again', async () => {
    const server = await startRawReceiver((socket, chunk, connection) =>
      connection === 1 && chunk === 1 ? socket.write(OK) : socket.destroy(),
    );
    const send = scene.sender(soon);
    await send(`http://127.0.0.1:${server.port}/`);
    expect(await send(`http://127.0.0.1:${server.port}/`)).toMatchObject({
      kind: 'failed',
      reason: 'connection_reset',
    });
    expect(server.connectionCount()).toBe(2);
  });

  it('is not replaced once a response has begun: the receiver may have taken the request', async () => {
    const server = await startRawReceiver((socket, chunk) => {
      if (chunk === 1) socket.write(OK);
      else socket.write('HTTP/1.1 2', () => socket.destroy());
    });
    const send = scene.sender(soon);
    await send(`http://127.0.0.1:${server.port}/`);
    expect(await send(`http://127.0.0.1:${server.port}/`)).toMatchObject({ kind: 'failed' });
    expect(server.connectionCount()).toBe(1);
  });

  it('has its replacement end with the time of the first', async () => {
    const server = await startRawReceiver((socket, chunk, connection) => {
      if (connection > 1) return;
      if (chunk === 1) socket.write(OK);
      else setTimeout(() => socket.destroy(), SHORT_MS);
    });
    const send = scene.sender(soon);
    await send(`http://127.0.0.1:${server.port}/`);
    const startedAt = performance.now();
    expect(await send(`http://127.0.0.1:${server.port}/`, { timeoutMs: 5 * SHORT_MS })).toMatchObject({
      kind: 'failed',
      reason: 'response_timeout',
      error: 'No full response in 500 ms.',
    });
    expect(server.connectionCount()).toBe(2);
    expect(performance.now() - startedAt).toBeGreaterThan(4.5 * SHORT_MS);
  });

  it.each([
    ['later than data takes to it and back', {}, {}],
    ['and the request is to be sent once at most', soon, { isSentOnce: true }],
    ['and it may not begin again', soon, { mayBegin: (hasWaited: boolean) => !hasWaited }],
  ])('is an attempt that failed when it closes %s', async (_when, limits, request) => {
    let received = 0;
    const server = await startReceiver((incoming, response) => {
      received += 1;
      if (received === 1) response.writeHead(204).end();
      else setTimeout(() => incoming.socket.resetAndDestroy(), 3 * SHORT_MS);
    });
    const send = scene.sender(limits);
    const url = `http://127.0.0.1:${server.port}/`;
    await send(url);
    expect(await send(url, request)).toMatchObject({ kind: 'failed', reason: 'connection_reset' });
    expect(received).toBe(2);
  });
});

describe('a request over a new connection', () => {
  it('goes when it may begin, asked once the connection is there', async () => {
    let received = 0;
    const server = await startReceiver((_request, response) => {
      received += 1;
      response.writeHead(204).end();
    });
    const receivedBefore: number[] = [];
    // By then, what was written would have arrived.
    const mayBegin = async () => {
      await send(`http://127.0.0.1:${server.port}/other`);
      receivedBefore.push(received);
      return true;
    };
    const send = scene.sender();
    const result = await send(`http://127.0.0.1:${server.port}/`, { mayBegin });
    expect(result).toMatchObject({ status: 204 });
    expect([receivedBefore, received]).toEqual([[1], 2]);
  });

  it.each([
    ['it may not begin any more', () => Promise.resolve(false)],
    ['nobody can say whether it may begin', () => Promise.reject(new Error('Redis is away.'))],
  ])('is not sent when %s', async (_what, mayBegin) => {
    let received = 0;
    const server = await startReceiver(() => {
      received += 1;
    });
    const result = await scene.sender()(`http://127.0.0.1:${server.port}/`, { mayBegin });
    expect(result).toMatchObject({ kind: 'unsent' });
    expect(received).toBe(0);
  });
});

describe('a response body', () => {
  it.each([
    ['leaves its connection for the next request when it is small', 'x'.repeat(16_384), 1],
    ['has its connection closed when it is longer than what is read', 'x'.repeat(16_385), 2],
  ])('%s', async (_what, body, connections) => {
    const server = await startReceiver((_request, response) => response.end(body));
    const send = scene.sender();
    await send(`http://127.0.0.1:${server.port}/`);
    await send(`http://127.0.0.1:${server.port}/`);
    expect(server.connectionCount()).toBe(connections);
  });
});

describe('classifyNetworkError', () => {
  const withCode = (code: string) => Object.assign(new Error('ENOTFOUND in the message only'), { code });

  it.each([
    ['ERR_BLOCKED_ADDRESS', 'blocked_address'],
    ['ERR_PROXY_DENIED', 'blocked_address'],
    ['ERR_PROXY_CONNECT_TIMEOUT', 'connect_timeout'],
    ['ERR_PROXY_CONNECT_FAILED', 'network_error'],
    ['ERR_UNRESOLVED_NAME', 'dns_error'],
    ['ECONNREFUSED', 'connect_refused'],
    ['ETIMEDOUT', 'connect_timeout'],
    ['ECONNRESET', 'connection_reset'],
    ['EPIPE', 'connection_reset'],
    ['EPROTO', 'tls_error'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_error'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_error'],
    ['ERR_OSSL_PEM_NO_START_LINE', 'tls_error'],
    ['CERT_HAS_EXPIRED', 'tls_error'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls_error'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls_error'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_error'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_error'],
    ['HPE_INVALID_CONSTANT', 'protocol_error'],
    ['HPE_HEADER_OVERFLOW', 'protocol_error'],
    ['EHOSTUNREACH', 'network_error'],
    ['ENETUNREACH', 'network_error'],
  ])('takes %s for a %s', (code, failure) => {
    expect(classifyNetworkError(withCode(code))).toBe(failure);
  });

  it('decides by the code, never by the message', () => {
    expect(classifyNetworkError(new Error('connect ECONNREFUSED 127.0.0.1:80'))).toBe('network_error');
  });
});

describe('describeNetworkError', () => {
  const OPENSSL =
    'write EPROTO 807C83F73A7F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/openssl/openssl/ssl/record/ssl3_record.c:350:\n';

  it("gives the reason of an OpenSSL error, and nothing of OpenSSL's insides", () => {
    expect(describeNetworkError(new Error(OPENSSL))).toBe('TLS failed: wrong version number.');
  });

  it('gives every other message as it is', () => {
    const message = 'connect ECONNREFUSED 127.0.0.1:443';
    expect(describeNetworkError(new Error(message))).toBe(message);
  });
});
