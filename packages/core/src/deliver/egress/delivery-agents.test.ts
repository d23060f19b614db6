import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientRequestArgs, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buildGuard } from '../../testing/build-guard';
import { DeliveryHttpAgent, DirectRoute, IdleSockets } from './routes';

describe('delivery agents', () => {
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  });

  function openAgent(allowedCidrs: readonly string[], options: object = {}): DeliveryHttpAgent {
    const agent = new DeliveryHttpAgent(
      new DirectRoute(buildGuard({ allowedCidrs })),
      new IdleSockets(8),
      options,
    );
    cleanUps.push(() => agent.destroy());
    return agent;
  }

  /** The code of the error that a request ends with. */
  async function failureOf(options: ClientRequestArgs): Promise<unknown> {
    const [error] = await once(request(options).end(), 'error');
    return error.code;
  }

  // The HTTP client of deliveries is told to refuse these by itself; this is for the next one.
  it('opens no socket in the file system, whatever the client asks for', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'delivery-agents-'));
    cleanUps.push(() => rm(folder, { recursive: true }));
    const socketPath = join(folder, 'daemon.sock');
    let connections = 0;
    const daemon = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(socketPath);
    cleanUps.push(() => daemon.close());
    await once(daemon, 'listening');

    const agent = openAgent(['0.0.0.0/0', '::/0']);
    expect(await failureOf({ socketPath, agent })).toBe('ERR_BLOCKED_ADDRESS');
    expect(connections).toBe(0);
  });

  it('announces a refusal through the request, also to requests that wait for their turn', async () => {
    const agent = openAgent([], { maxSockets: 1 });
    const failures = [1, 2, 3].map(() => failureOf({ host: '127.0.0.1', port: 9, agent }));
    expect(await Promise.all(failures)).toEqual(Array(3).fill('ERR_BLOCKED_ADDRESS'));
  });
});

describe('idle sockets', () => {
  const openSockets = (count: number) => Array.from({ length: count }, () => new PassThrough());
  const areClosed = (sockets: readonly PassThrough[]) => sockets.map(({ destroyed }) => destroyed);

  it('closes the connection that has waited longest when there are too many', () => {
    const idle = new IdleSockets(2);
    const sockets = openSockets(4);
    for (const socket of sockets) idle.add(socket);
    expect(areClosed(sockets)).toEqual([true, true, false, false]);
  });

  it('leaves alone what is in use again', () => {
    const idle = new IdleSockets(2);
    const sockets = openSockets(3);
    const [first, second, third] = sockets as [PassThrough, PassThrough, PassThrough];
    idle.add(first);
    idle.add(second);
    idle.remove(first);
    idle.add(third);
    expect(areClosed(sockets)).toEqual([false, false, false]);
    idle.add(first);
    expect(areClosed(sockets)).toEqual([false, true, false]);
  });

  it('does not count what has closed by itself', async () => {
    const idle = new IdleSockets(2);
    const sockets = openSockets(3);
    const [first, second, third] = sockets as [PassThrough, PassThrough, PassThrough];
    idle.add(first);
    idle.add(second);
    await new Promise((resolve) => second.once('close', resolve).destroy());
    idle.add(third);
    expect(areClosed(sockets)).toEqual([false, true, false]);
  });

  it('listens to a connection once, however often it becomes idle', () => {
    const idle = new IdleSockets(2);
    const socket = new PassThrough();
    const before = socket.listenerCount('close');
    for (let i = 0; i < 20; i += 1) {
      idle.add(socket);
      idle.remove(socket);
    }
    expect(socket.listenerCount('close')).toBe(before + 1);
  });
});
