import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientRequestArgs, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildGuard } from '../testing/build-guard';
import { DeliveryHttpAgent } from './delivery-agents';
import { directRoute } from './direct-route';
import { IdleSockets } from './idle-sockets';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

function openAgent(allowedCidrs: readonly string[], options: object = {}): DeliveryHttpAgent {
  const agent = new DeliveryHttpAgent(directRoute(buildGuard({ allowedCidrs })), new IdleSockets(8), options);
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
