import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startTcpServer } from '@hookferry/core/testing/local-server';
import { FaultyProxy } from './faulty-proxy';

let echo: Awaited<ReturnType<typeof startTcpServer>>;
let proxy: FaultyProxy;
let client: Socket;
beforeEach(async () => {
  echo = await startTcpServer((socket) => socket.pipe(socket));
  proxy = await FaultyProxy.start(echo.port);
  client = connect(Number(new URL(proxy.url).port), '127.0.0.1');
  await once(client, 'connect');
});
afterEach(async () => {
  client.destroy();
  await proxy.close();
  await echo.close();
});

/** Everything that comes back, until there is so much of it. */
async function read(length: number): Promise<string> {
  let text = '';
  while (text.length < length) text += String((await once(client, 'data'))[0]);
  return text;
}

it('passes on in order what was delayed, and what came when the delay was over', async () => {
  proxy.delay(30);
  client.write('one ');
  const all = read('one two '.length);
  proxy.delay(0);
  client.write('two ');
  expect(await all).toBe('one two ');
});

it('loses what is sent on a swallowed connection, and resets it when it is told to', async () => {
  client.write('before');
  await read('before'.length);
  const reset = proxy.swallow();
  client.on('error', () => {});
  const closed = new Promise((resolve) => client.once('close', resolve));
  const came: Buffer[] = [];
  client.on('data', (chunk: Buffer) => came.push(chunk));
  client.write('never heard');
  reset();
  await closed;
  expect(came).toEqual([]);
});
