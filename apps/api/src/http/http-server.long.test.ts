import { once } from 'node:events';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { createClosables } from '@hookferry/core/testing/closables';
import { recordSignals } from '@hookferry/core/testing/record-signals';
import { readProblem } from '../testing/read-problem';
import { HttpServer, type HttpServerOptions } from './http-server';

describe('http server', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  const reads: RequestListener = (request, response) => {
    request.resume().once('end', () => response.end('served'));
  };

  async function start(options: Partial<HttpServerOptions> = {}, listener = reads) {
    const signals = recordSignals();
    const server = new HttpServer(listener, {
      maxConnections: 100,
      newId: (prefix) => `${prefix}_1`,
      emit: signals.listen,
      ...options,
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    willClose({ close: () => closeServer(server) });
    return { server, signals, open: () => open(server) };
  }

  async function closeServer(server: Server): Promise<void> {
    server.close();
    server.closeAllConnections();
  }

  async function open(server: Server): Promise<Socket> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    // That the server hangs up is what these tests are about.
    socket.on('error', () => {});
    willClose({ close: () => socket.destroy() });
    await once(socket, 'connect');
    return socket;
  }

  /** All that comes until the server hangs up, as an answer. */
  async function readAnswer(socket: Socket) {
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    const [statusLine = '', ...lines] = head.split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => line.toLowerCase().split(': ') as [string, string]),
    );
    return { status: Number(statusLine.split(' ')[1]), headers, body: JSON.parse(body) as unknown };
  }

  /** Sends this again and again, until it is hung up on. */
  function drip(socket: Socket, bytes: string): void {
    const timer = setInterval(() => socket.write(bytes), 10);
    for (const end of ['end', 'close']) socket.once(end, () => clearInterval(timer));
  }

  const SOON = { connectionsCheckingInterval: 20 };

  describe('a server that is told to stop', () => {
    it.each<[string, (socket: Socket) => Promise<unknown> | void]>([
      ['has sent nothing', () => {}],
      [
        'has been answered, and stays',
        async (socket) => {
          socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
          await once(socket, 'data');
        },
      ],
    ])('does not wait for a connection that %s', async (_what, begin) => {
      const { server, open: openOne } = await start();
      const accepted = once(server, 'connection');
      const socket = await openOne();
      await accepted;
      await begin(socket);
      const closed = once(socket, 'close');
      const startedAt = performance.now();
      await server.stop(10_000);
      await closed;
      expect(performance.now() - startedAt).toBeLessThan(2_000);
    });

    it('answers what is under way, and closes what is left after the deadline', async () => {
      const responses: ServerResponse[] = [];
      const { server, open: openOne } = await start(
        {},
        (_request, response) => void responses.push(response),
      );
      const [answered, left] = [await openOne(), await openOne()];
      for (const socket of [answered, left]) {
        const asked = once(server, 'request');
        socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
        await asked;
      }
      const stopped = server.stop(200);
      responses[0]?.end('served');
      expect(await text(answered)).toContain('served');
      await Promise.all([once(left, 'close'), stopped]);
    });

    it('may be told twice', async () => {
      const { server } = await start();
      await Promise.all([server.stop(1_000), server.stop(1_000)]);
      await server.stop(1_000);
      expect(server.listening).toBe(false);
    });
  });

  describe('a client that is slow', () => {
    it.each([
      ['says nothing', () => {}],
      [
        'sends its headers a byte at a time',
        (socket: Socket) => {
          socket.write('GET / HTTP/1.1\r\nx: ');
          drip(socket, 'x');
        },
      ],
    ])('is cut off with 408 when it %s', async (_what, begin) => {
      const { open: openOne, signals } = await start({
        timeouts: { headersTimeout: 100, requestTimeout: 10_000, ...SOON },
      });
      const socket = await openOne();
      begin(socket);
      expect(readProblem(await readAnswer(socket))).toEqual({ status: 408, code: 'request_timeout' });
      expect(signals.named('connection.refused')).toEqual([
        { name: 'connection.refused', reason: 'too_slow', clientAddress: '127.0.0.1' },
      ]);
    });

    it('is cut off with 408 when it sends its body a byte at a time', async () => {
      const { open: openOne } = await start({
        timeouts: { headersTimeout: 100, requestTimeout: 200, ...SOON },
      });
      const socket = await openOne();
      socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n');
      drip(socket, 'x');
      expect(readProblem(await readAnswer(socket))).toEqual({ status: 408, code: 'request_timeout' });
    });

    it('is cut off when it does not read its answer', async () => {
      const large = Buffer.alloc(64 * 1024 * 1024);
      const { server, open: openOne } = await start(
        { timeouts: { timeout: 100 } },
        (_request, response) => void response.end(large),
      );
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const socket = await openOne();
      const [held] = await accepted;
      socket.pause().write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
      await once(held, 'close');
      expect(socket.bytesRead).toBeLessThan(large.length);
    });

    it('may stay between two requests, but not for ever', async () => {
      const { open: openOne } = await start({ timeouts: { keepAliveTimeout: 100 } });
      const socket = await openOne();
      socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
      expect(await text(socket)).toContain('Connection: keep-alive');
    });
  });

  describe('a client that does not speak HTTP', () => {
    it.each([
      ['no HTTP at all', '\u0016\u0003\u0001\u0002\u0000\r\n\r\n'],
      ['another protocol', 'GET / SPDY/3\r\n\r\n'],
      ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n'],
      ['a header over two lines', 'GET / HTTP/1.1\r\nhost: x\r\n folded: y\r\nbad\r\n\r\n'],
      [
        'two lengths of its body',
        'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
      ],
      [
        'a length and chunks',
        'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      ],
      ['a chunk without a size', 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
    ])('is answered with 400, and hung up on: %s', async (_what, bytes) => {
      const { open: openOne, signals } = await start();
      const socket = await openOne();
      socket.write(bytes);
      const answer = await readAnswer(socket);
      expect(readProblem(answer)).toEqual({ status: 400, code: 'malformed_request' });
      expect(answer.headers.connection).toBe('close');
      expect(signals.named('connection.refused')).toMatchObject([{ reason: 'malformed' }]);
    });

    it('is hung up on also when it leaves its own side open', async () => {
      const { server, open: openOne } = await start();
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const socket = await openOne();
      const [held] = await accepted;
      socket.pause().write('nonsense\r\n\r\n');
      await once(held, 'close');
      expect(held.destroyed).toBe(true);
    });

    it('takes nothing from the others', async () => {
      const { open: openOne } = await start();
      const [good, bad] = [await openOne(), await openOne()];
      bad.write('nonsense\r\n\r\n');
      await readAnswer(bad);
      good.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      expect(await text(good)).toContain('served');
    });
  });

  it('answers headers of over 16 KiB with 431', async () => {
    const { open: openOne, signals } = await start();
    const socket = await openOne();
    socket.write(`GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(17 * 1024)}\r\n\r\n`);
    expect(readProblem(await readAnswer(socket))).toEqual({ status: 431, code: 'headers_too_large' });
    expect(signals.named('connection.refused')).toMatchObject([{ reason: 'headers_too_large' }]);
  });

  it('passes over expectations that it does not know', async () => {
    const { open: openOne } = await start();
    const socket = await openOne();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nexpect: a-miracle\r\nconnection: close\r\n\r\n');
    expect(await text(socket)).toContain('served');
  });

  describe('a connection too many', () => {
    it('is closed at once, while the others are served', async () => {
      const { open: openOne, signals } = await start({ maxConnections: 2 });
      const [first] = [await openOne(), await openOne()];
      const third = await openOne();
      expect(await text(third).catch(() => '')).toBe('');
      expect(signals.named('connection.refused')).toEqual([
        { name: 'connection.refused', reason: 'too_many' },
      ]);
      first.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      expect(await text(first)).toContain('served');
    });

    it('is taken once another one is gone', async () => {
      const { server, open: openOne } = await start({ maxConnections: 1 });
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const first = await openOne();
      const [held] = await accepted;
      first.destroy();
      await once(held, 'close');
      const second = await openOne();
      second.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      expect(await text(second)).toContain('served');
    });
  });
});

describe('requests in order', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  /** A server that notes which requests have begun, and lets a test answer them. */
  async function start(answer?: RequestListener) {
    const begun: string[] = [];
    const answers = new Map<string, (body: string) => void>();
    const signals = recordSignals();
    const server = new HttpServer(
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
});
