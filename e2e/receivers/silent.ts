import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { startRawReceiver, startRespondingReceiver } from './raw-receiver';
import type { ReceiverKind, StartedReceiver } from './receiver-kind';

const untilDeadline = { outcome: 'response_timeout', endedBy: 'deadline', connection: 'closed' } as const;

/** Those that say nothing. */
export const silentKinds: readonly ReceiverKind[] = [
  { name: 'no reply', start: () => startRespondingReceiver(() => {}), ...untilDeadline },
  {
    name: 'takes the connection and reads nothing',
    start: () => startRawReceiver((socket) => socket.pause()),
    requestBytes: 256 * 1024,
    ...untilDeadline,
  },
  {
    name: 'takes no connection',
    start: startAcceptingNothing,
    ...untilDeadline,
    outcome: 'connect_timeout',
  },
  {
    name: 'nobody listens',
    start: startNobody,
    outcome: 'connect_refused',
    endedBy: 'receiver',
    connection: 'closed',
  },
  {
    name: 'ends its half at once, and goes on reading',
    start: () => startRawReceiver((socket) => endHalf(socket.resume())),
    outcome: 'connection_reset',
    endedBy: 'receiver',
    connection: 'closed',
  },
  {
    name: 'ends its half after the request, and never the other',
    start: () => startRespondingReceiver(endHalf),
    outcome: 'connection_reset',
    endedBy: 'receiver',
    connection: 'closed',
  },
];

function endHalf(socket: Socket): void {
  socket.end();
}

async function startNobody(): Promise<StartedReceiver> {
  const port = await findClosedPort();
  return { url: `http://127.0.0.1:${port}/hook`, connectionCount: () => 0, close: async () => {} };
}

// A thread that listens and then sleeps: the kernel completes as many connections as the backlog has room for, and
// leaves the rest without a reply, as a machine behind a dropping firewall would.
const SLEEPER = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;
// The kernel takes one more than the backlog says.
const BACKLOG_FILLERS = 2;

async function startAcceptingNothing(): Promise<StartedReceiver> {
  const thread = new Worker(SLEEPER, { eval: true });
  const [port] = (await once(thread, 'message')) as [number];
  const fillers = Array.from({ length: BACKLOG_FILLERS }, () => connect(port, '127.0.0.1'));
  for (const filler of fillers) filler.on('error', () => {});
  await Promise.all(fillers.map((filler) => once(filler, 'connect')));
  return {
    url: `http://127.0.0.1:${port}/hook`,
    connectionCount: () => 0,
    async close() {
      for (const filler of fillers) filler.destroy();
      await thread.terminate();
    },
  };
}
