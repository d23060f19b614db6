import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createClosables } from '@hookferry/core/testing/closables';
import { recordSignals } from '@hookferry/core/testing/record-signals';
import { createHttpServer } from './http-server';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** A server that notes which requests have begun, and lets a test answer them. */
async function start(answer?: RequestListener) {
  const begun: string[] = [];
  const answers = new Map<string, (body: string) => void>();
  const signals = recordSignals();
  const server = createHttpServer(
    (request, response) => {
      const path = request.url ?? '';
      begun.push(path);
      answers.set(path, (body) => response.end(body));
      answer?.(request, response);
    },
    { maxConnections: 100, newId: (prefix) => `${prefix}_1`, emit: signals.listen },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  willClose({
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  });
  const open = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    // That the server hangs up is what some of these tests are about.
    socket.on('error', () => {});
    willClose({ close: () => socket.destroy() });
    await once(socket, 'connect');
    return socket;
  };
  const begins = async (path: string) => {
    while (!answers.has(path)) await new Promise(setImmediate);
    return answers.get(path) as (body: string) => void;
  };
  return { begun, signals, open, begins };
}

function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`;
}

const LAST = 'connection: close\r\n';

/** What comes until the connection is closed, in whatever way. */
async function allFrom(socket: Socket): Promise<string> {
  let received = '';
  socket.setEncoding('latin1').on('data', (some: string) => {
    received += some;
  });
  await once(socket, 'close');
  return received;
}

function paths(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `/${i}`);
}

function bodiesOf(answers: string): string[] {
  return answers
    .split(/HTTP\/1\.1 \d+/)
    .slice(1)
    .map((answer) => answer.split('\r\n\r\n')[1] ?? '');
}

it('answers requests that were sent ahead in their order, each when the one before it is answered', async () => {
  const { begun, open, begins } = await start();
  const socket = await open();
  socket.write(get('/a') + get('/b') + get('/c', LAST));
  const received = allFrom(socket);
  for (const path of ['/a', '/b', '/c']) {
    const answer = await begins(path);
    expect(begun.at(-1)).toBe(path);
    answer(`of ${path}`);
  }
  expect(bodiesOf(await received)).toEqual(['of /a', 'of /b', 'of /c']);
});

it('takes the bodies of requests that were sent ahead, too', async () => {
  const { open } = await start((request, response) => {
    let length = 0;
    request.on('data', (some: Buffer) => {
      length += some.length;
    });
    request.once('end', () => response.end(`${length} bytes`));
  });
  const socket = await open();
  const post = (length: number, headers = '') =>
    `POST / HTTP/1.1\r\nhost: x\r\n${headers}content-length: ${length}\r\n\r\n${'x'.repeat(length)}`;
  socket.write(post(10) + post(300_000) + post(30, LAST));
  expect(bodiesOf(await allFrom(socket))).toEqual(['10 bytes', '300000 bytes', '30 bytes']);
});

it('begins no request before the answer in front of it was read', async () => {
  const large = Buffer.alloc(64 * 1024 * 1024);
  const { begun, open, begins } = await start((request, response) => {
    if (request.url === '/large') response.end(large);
  });
  const socket = (await open()).pause();
  socket.write(get('/large') + get('/next', LAST));
  await once(socket, 'readable');
  expect(begun).toEqual(['/large']);
  const received = allFrom(socket);
  (await begins('/next'))('at last');
  expect((await received).endsWith('at last')).toBe(true);
});

it('keeps other connections out of it', async () => {
  const { open, begins } = await start();
  const [stuck, other] = [await open(), await open()];
  stuck.write(get('/never') + get('/behind'));
  await begins('/never');
  other.write(get('/other', LAST));
  (await begins('/other'))('served');
  expect(bodiesOf(await allFrom(other))).toEqual(['served']);
});

it('takes sixteen requests ahead', async () => {
  const { open } = await start((request, response) => {
    setImmediate(() => response.end(request.url));
  });
  const socket = await open();
  const ahead = paths(16);
  socket.write(ahead.map((path) => get(path)).join('') + get('/last', LAST));
  expect(bodiesOf(await allFrom(socket))).toEqual([...ahead, '/last']);
});

it('answers sixteen of more than that, and then hangs up', async () => {
  const { begun, signals, open, begins } = await start();
  const socket = await open();
  const sent = paths(18);
  socket.write(sent.map((path) => get(path)).join(''));
  const received = allFrom(socket);
  for (const path of sent.slice(0, 17)) (await begins(path))(path);
  expect(bodiesOf(await received)).toEqual(sent.slice(0, 17));
  expect(begun).toEqual(sent.slice(0, 17));
  expect(signals.named('connection.refused')).toEqual([
    { name: 'connection.refused', reason: 'pipelined', clientAddress: '127.0.0.1' },
  ]);
});

it('hangs up at once on far more than sixteen, and begins none of them', async () => {
  const { begun, signals, open } = await start();
  const socket = await open();
  socket.write(
    paths(1_000)
      .map((path) => get(path))
      .join(''),
  );
  await once(socket, 'close');
  expect(begun).toEqual(['/0']);
  expect(signals.named('connection.refused')).toHaveLength(1);
});

it('never begins a request that goes wrong half-way while it waits', async () => {
  const { begun, open, begins } = await start();
  const socket = await open();
  socket.write(`${get('/a')}POST /broken HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`);
  const received = allFrom(socket);
  (await begins('/a'))('of /a');
  const [a, refusal] = bodiesOf(await received);
  expect(a).toBe('of /a');
  expect(JSON.parse(refusal ?? '')).toMatchObject({ code: 'malformed_request' });
  expect(begun).toEqual(['/a']);
});

it('hangs up on a client that leaves in the middle of a request, whatever is in front of it', async () => {
  const { open, begins, signals } = await start();
  const socket = await open();
  socket.write(get('/stream'));
  await begins('/stream');
  socket.end('GET /half HTTP/1.1\r\nho');
  await allFrom(socket);
  expect(signals.named('connection.refused')).toMatchObject([{ reason: 'malformed' }]);
});

it('begins nothing behind an answer that ends the connection', async () => {
  const { begun, open } = await start((_request, response) => {
    response.setHeader('connection', 'close');
    setImmediate(() => response.end('bye'));
  });
  const socket = await open();
  socket.write(get('/first') + get('/second'));
  expect(bodiesOf(await allFrom(socket))).toEqual(['bye']);
  expect(begun).toEqual(['/first']);
});

it('answers what is no HTTP once the requests before it are answered', async () => {
  const { signals, open, begins } = await start();
  const socket = await open();
  socket.write(`${get('/a')}${get('/b')}nonsense\r\n\r\n`);
  const received = allFrom(socket);
  (await begins('/a'))('of /a');
  expect(signals.named('connection.refused')).toEqual([]);
  (await begins('/b'))('of /b');
  const [a, b, refusal] = bodiesOf(await received);
  expect([a, b]).toEqual(['of /a', 'of /b']);
  expect(JSON.parse(refusal ?? '')).toMatchObject({ code: 'malformed_request' });
});
