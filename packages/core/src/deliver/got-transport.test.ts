import { getEventListeners } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setInterval as every } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { DeliveryRequest } from '../domain/transport';
import { findClosedPort, startTcpServer } from '../testing/local-server';
import { TransportScene } from '../testing/transport-scene';

const SHORT_MS = 200;
const LONG_MS = 30_000;

const scene = new TransportScene();
afterEach(scene.clear);

/** A receiver that answers with these bytes, whatever they are, and then does what `andThen` says. */
async function startRawReceiver(answer: string, andThen: (socket: Socket) => unknown = wait) {
  const server = await startTcpServer((socket) => {
    socket.once('data', () => socket.write(answer, () => void andThen(socket)));
  });
  scene.willClose(server);
  return server;
}

function requestTo(port: number, change: Partial<DeliveryRequest> = {}): DeliveryRequest {
  return {
    url: `http://127.0.0.1:${port}/hooks?a=1`,
    headers: { 'content-type': 'application/json', 'user-agent': 'hooks/1.2', 'webhook-id': 'evt_1' },
    body: '{"type":"t","data":"Zoë 🚀"}',
    ...change,
  };
}

function send(port: number, { timeoutMs = LONG_MS, signal = new AbortController().signal } = {}) {
  return scene.openTransport({ timeoutMs }).send(requestTo(port), signal);
}

const wait = () => {};
const hangUp = (socket: Socket) => socket.destroy();
const finish = (socket: Socket) => socket.end();
const closeOf = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

describe('what the receiver gets', () => {
  it('is a POST with the headers and the bytes of the request, and nothing that was not asked for', async () => {
    let received: object | undefined;
    const { port } = await scene.startReceiver(async (incoming, response) => {
      const { method, url, headers } = incoming;
      received = { method, url, headers, body: await text(incoming) };
      response.writeHead(204).end();
    });
    const request = requestTo(port);
    await scene.openTransport().send(request, new AbortController().signal);
    expect(received).toEqual({
      method: 'POST',
      url: '/hooks?a=1',
      body: request.body,
      headers: {
        ...request.headers,
        host: `127.0.0.1:${port}`,
        connection: 'keep-alive',
        'content-length': String(Buffer.byteLength(request.body)),
      },
    });
  });

  it('comes over one connection, request after request', async () => {
    const server = await scene.startReceiver((_request, response) => response.end('thanks'));
    const transport = scene.openTransport();
    for (let i = 0; i < 3; i += 1) {
      await transport.send(requestTo(server.port), new AbortController().signal);
    }
    expect(server.connectionCount()).toBe(1);
  });
});

describe('an answer', () => {
  it.each([200, 204, 299, 400, 404, 410, 500, 503])('with status %d is passed on', async (status) => {
    const { port } = await scene.startReceiver((_request, response) => response.writeHead(status).end());
    expect(await send(port)).toMatchObject({ kind: 'responded', status, retryAfter: undefined, body: '' });
  });

  it('comes with its Retry-After, as it is', async () => {
    const { port } = await scene.startReceiver((_request, response) =>
      response.writeHead(503, { 'retry-after': ' soon ' }).end(),
    );
    expect(await send(port)).toMatchObject({ status: 503, retryAfter: 'soon' });
  });

  it('comes with what the receiver wishes, as it is', async () => {
    const { port } = await scene.startReceiver((_request, response) =>
      response.writeHead(422, { 'Webhook-Delivery': 'Abort' }).end(),
    );
    expect(await send(port)).toMatchObject({ status: 422, wish: 'Abort' });
  });

  it('comes with the beginning of its body', async () => {
    const { port } = await scene.startReceiver((_request, response) =>
      response.writeHead(500).end('a'.repeat(4_000) + 'b'.repeat(4_000)),
    );
    expect(await send(port)).toMatchObject({ status: 500, body: 'a'.repeat(4_000) + 'b'.repeat(96) });
  });

  it.each([
    [11, 'aé🚀é'],
    [10, 'aé🚀é'],
    [9, 'aé🚀é'],
    [8, 'aé🚀'],
    [7, 'aé🚀'],
    [6, 'aé'],
  ])('comes with no half character when %i bytes of its body are kept', async (keptBytes, body) => {
    const { port } = await scene.startReceiver((_request, response) => response.end('aé🚀é🚀é🚀'));
    const transport = scene.openTransport({ keptBytes });
    expect(await transport.send(requestTo(port), new AbortController().signal)).toMatchObject({ body });
  });

  it.each([301, 302, 303, 307, 308])('that redirects with %d is not followed', async (status) => {
    const elsewhere = await scene.startReceiver((_request, response) => response.end());
    const { port } = await scene.startReceiver((_request, response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${elsewhere.port}/` }).end(),
    );
    expect(await send(port)).toMatchObject({ kind: 'responded', status });
    expect(elsewhere.connectionCount()).toBe(0);
  });

  it.each([
    [
      '100 Continue, then 200',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      200,
    ],
    [
      '103 Early Hints, then 204',
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No\r\n\r\n',
      204,
    ],
    ['101 without a protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', 101],
    ['a status out of range', 'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n', 999],
    ['1500 headers', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(1_500)}Content-Length: 0\r\n\r\n`, 200],
  ])('of %s has the last status', async (_what, answer, status) => {
    const { port } = await startRawReceiver(answer);
    expect(await send(port)).toMatchObject({ kind: 'responded', status });
  });

  it('without a length ends with its connection, as in HTTP/1.0', async () => {
    const { port } = await startRawReceiver('HTTP/1.0 200 OK\r\n\r\nthanks', finish);
    expect(await send(port)).toMatchObject({ kind: 'responded', status: 200, body: 'thanks' });
  });

  it('of 101 is the last one: the protocol is not switched, and the connection is closed', async () => {
    let disconnected: Promise<unknown> | undefined;
    const { port } = await startRawReceiver(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
      (socket) => {
        disconnected = closeOf(socket);
      },
    );
    const transport = scene.openTransport();
    const result = await transport.send(requestTo(port), new AbortController().signal);
    expect(result).toMatchObject({ kind: 'responded', status: 101 });
    await disconnected;
  });

  it.each([200, 500])('with status %d counts, also when its body breaks off', async (status) => {
    const { port } = await startRawReceiver(
      `HTTP/1.1 ${status} Whatever\r\nContent-Length: 100\r\n\r\npart`,
      hangUp,
    );
    expect(await send(port)).toMatchObject({ kind: 'responded', status, body: 'part' });
  });
});

describe('a body without end', () => {
  it('is cut off by closing the connection, and little of it is ever taken in', async () => {
    let sentBytes: Promise<number> | undefined;
    const { port } = await scene.startReceiver((_request, response) => {
      const { socket } = response;
      if (!socket) throw new Error('There is always a socket.');
      sentBytes = closeOf(socket).then(() => socket.bytesWritten);
      Readable.from(endlessChunks()).pipe(response);
    });
    const result = await send(port);
    expect(result).toMatchObject({ kind: 'responded', status: 200, body: 'x'.repeat(4_096) });
    // What the two sockets' buffers hold goes out in any case.
    expect(await sentBytes).toBeLessThan(32 * 1024 * 1024);
  });

  it('is cut off as well when there is much around little of it', async () => {
    let sentBytes: Promise<number> | undefined;
    const server = await startTcpServer((socket) => {
      sentBytes = closeOf(socket).then(() => socket.bytesWritten);
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        Readable.from(endlessChunksOfOneByte()).pipe(socket);
      });
    });
    scene.willClose(server);
    expect(await send(server.port)).toMatchObject({ kind: 'responded', status: 200 });
    expect(await sentBytes).toBeLessThan(32 * 1024 * 1024);
  });

  it('is not blown up by decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024));
    const { port } = await scene.startReceiver((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    const result = await send(port);
    expect(result).toMatchObject({ kind: 'responded', status: 200 });
    expect(result).not.toMatchObject({ body: expect.stringMatching(/^\0/) });
  });
});

function* endlessChunksOfOneByte() {
  for (;;) yield `1;${'x'.repeat(10_000)}\r\nx\r\n`;
}

function* endlessChunks() {
  for (;;) yield 'x'.repeat(64 * 1024);
}

describe('a receiver that can not be talked with', () => {
  it('is a refused connection when nothing listens there', async () => {
    expect(await send(await findClosedPort())).toMatchObject({ kind: 'failed', reason: 'connect_refused' });
  });

  it('is a reset connection when it hangs up instead of an answer', async () => {
    const { port } = await startRawReceiver('', hangUp);
    expect(await send(port)).toMatchObject({ kind: 'failed', reason: 'connection_reset' });
  });

  it('is a reset connection when it hangs up in the middle of the headers', async () => {
    const { port } = await startRawReceiver('HTTP/1.1 200 OK\r\nContent-', hangUp);
    expect(await send(port)).toMatchObject({ kind: 'failed', reason: 'connection_reset' });
  });

  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['garbage', '\0\x01\x02\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 99 Odd\r\n\r\n'],
    [
      'both a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['blank lines without end', '\r\n'.repeat(100_000)],
    ['interim answers without end', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10_000)],
    ['20 kB of headers', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
  ])('is a fault of protocol when it answers with %s', async (_what, answer) => {
    const { port } = await startRawReceiver(answer);
    expect(await send(port)).toMatchObject({ kind: 'failed', reason: 'protocol_error' });
  });

  it('is a fault of TLS when it does not speak it', async () => {
    const { port } = await scene.startReceiver((_request, response) => response.end());
    const request = requestTo(port, { url: `https://127.0.0.1:${port}/` });
    expect(await scene.openTransport().send(request, new AbortController().signal)).toMatchObject({
      kind: 'failed',
      reason: 'tls_error',
      error: 'TLS failed: wrong version number.',
    });
  });

  it.each(['http://unix:', 'http://unix'])(
    'is never a socket of this machine, as %s/… names one',
    async (start) => {
      const path = join(tmpdir(), `receiver-${process.pid}.sock`);
      let connections = 0;
      const server = createServer((socket) => {
        connections += 1;
        socket.end('HTTP/1.1 204 No Content\r\n\r\n');
      });
      await new Promise<void>((resolve) => server.listen(path, resolve));
      scene.willClose(server);
      const request = requestTo(0, { url: `${start}${path}:/info` });
      expect(await scene.openTransport().send(request, new AbortController().signal)).toMatchObject({
        kind: 'failed',
      });
      expect(connections).toBe(0);
    },
  );

  it('is a failure, no exception, when a header can not be sent', async () => {
    const { port } = await scene.startReceiver((_request, response) => response.end());
    const request = requestTo(port, { headers: { 'x-bad': 'line\r\nfeed' } });
    expect(await scene.openTransport().send(request, new AbortController().signal)).toMatchObject({
      kind: 'failed',
    });
  });
});

describe('the deadline', () => {
  const drip = (chunk: string) => async (socket: Socket) => {
    for await (const _ of every(10)) if (!socket.write(chunk) || socket.destroyed) return;
  };

  it.each<[string, string, (socket: Socket) => unknown]>([
    ['never answers', '', wait],
    ['drips its headers', 'HTTP/1.1 200 OK\r\n', drip('a: b\r\n')],
    ['sends 103 without end', 'HTTP/1.1 103 Early Hints\r\n\r\n', drip('HTTP/1.1 103 Early Hints\r\n\r\n')],
    ['never ends its body', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart', wait],
    ['drips its body', 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n', drip('.')],
  ])('ends an attempt at a receiver that %s, and its connection', async (_what, answer, andThen) => {
    let disconnected: Promise<unknown> | undefined;
    const server = await startTcpServer((socket) => {
      disconnected = closeOf(socket);
      socket.once('data', () => socket.write(answer, () => void andThen(socket)));
    });
    scene.willClose(server);
    expect(await send(server.port, { timeoutMs: SHORT_MS })).toMatchObject({
      kind: 'failed',
      reason: 'response_timeout',
      error: 'No full response in 200 ms.',
    });
    await disconnected;
  });
});

describe('an abort', () => {
  it('ends an attempt that is under way, and its connection', async () => {
    const stop = new AbortController();
    let disconnected: Promise<unknown> | undefined;
    const { port } = await scene.startReceiver((request) => {
      disconnected = closeOf(request.socket);
      stop.abort();
    });
    expect(await send(port, { signal: stop.signal })).toMatchObject({
      kind: 'failed',
      reason: 'network_error',
    });
    await disconnected;
  });

  it('that came before keeps the request from being sent', async () => {
    let requests = 0;
    const { port } = await scene.startReceiver(() => {
      requests += 1;
    });
    expect(await send(port, { signal: AbortSignal.abort() })).toMatchObject({ kind: 'failed' });
    expect(requests).toBe(0);
  });

  it('is not waited for any more once there is an answer', async () => {
    const { signal } = new AbortController();
    const { port } = await scene.startReceiver((_request, response) => response.writeHead(204).end());
    expect(await send(port, { signal })).toMatchObject({ status: 204 });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
