import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { forward } from './forward';

const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

async function serve(listener: RequestListener): Promise<URL> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  return urlOf(server.address() as AddressInfo);
}

function urlOf({ port }: AddressInfo): URL {
  return new URL(`http://127.0.0.1:${port}/hook?a=b`);
}

const never = new AbortController().signal;
const given = {
  headers: { 'x-a': 'b' },
  body: Buffer.from([0, 255, 10]),
  timeoutMs: 5_000,
  responseBytes: 4,
};

it('sends bytes as they are, and gives the beginning of the response', async () => {
  const seen: Buffer[] = [];
  const url = await serve((request, response) => {
    request.on('data', (chunk: Buffer) => seen.push(chunk));
    response.writeHead(202, { 'retry-after': '3', 'set-cookie': ['a=1', 'b=2'] });
    request.on('end', () => response.end('a long response'));
  });
  const forwarded = await forward(url, given, never);
  expect(Buffer.concat(seen)).toEqual(given.body);
  expect(forwarded).toMatchObject({
    kind: 'responded',
    status: 202,
    headers: { 'retry-after': '3', 'set-cookie': 'a=1, b=2' },
    body: Buffer.from('a lo'),
  });
});

it('follows no redirect', async () => {
  const url = await serve((_, response) => void response.writeHead(302, { location: '/' }).end());
  expect(await forward(url, given, never)).toMatchObject({ kind: 'responded', status: 302 });
});

it('names what is wrong', async () => {
  const url = await serve((request) => void request.socket.destroy());
  expect(await forward(url, given, never)).toMatchObject({ outcome: 'connection_reset' });

  const garbage = createTcpServer((socket) => void socket.end('what?\r\n\r\n')).listen(0, '127.0.0.1');
  closing.push(() => garbage.close());
  await once(garbage, 'listening');
  expect(await forward(urlOf(garbage.address() as AddressInfo), given, never)).toMatchObject({
    outcome: 'protocol_error',
  });

  closing.splice(0).forEach((close) => close());
  expect(await forward(url, given, never)).toMatchObject({
    outcome: 'connect_refused',
    error: `connection_refused: nothing listens at ${url.host}`,
  });
  expect(await forward(new URL('http://no-such-name.invalid/'), given, never)).toMatchObject({
    outcome: 'dns_error',
  });
});

it('waits for the whole response no longer than it may', async () => {
  const url = await serve((_, response) => void response.writeHead(200).write('…'));
  expect(await forward(url, { ...given, timeoutMs: 100 }, never)).toMatchObject({
    outcome: 'response_timeout',
  });
});

it('lets go at once when it is told to', async () => {
  const told = new AbortController();
  const url = await serve(() => told.abort());
  await expect(forward(url, given, told.signal)).rejects.toThrow();
});
