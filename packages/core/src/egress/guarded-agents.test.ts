import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildGuard } from '../testing/build-guard';
import { GuardedHttpAgent } from './guarded-agents';

// The HTTP client of deliveries is told to refuse these by itself; this is for the next one.
it('opens no socket in the file system, whatever the client asks for', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'guarded-agents-'));
  const socketPath = join(folder, 'daemon.sock');
  let connections = 0;
  const daemon = createServer(() => {
    connections += 1;
  }).listen(socketPath);
  await once(daemon, 'listening');
  const agent = new GuardedHttpAgent(buildGuard({ allowedCidrs: ['0.0.0.0/0', '::/0'] }), {});

  const [error] = await once(request({ socketPath, agent }).end(), 'error').catch((error) => [error]);
  expect(error).toMatchObject({ code: 'ERR_BLOCKED_ADDRESS' });
  expect(connections).toBe(0);

  agent.destroy();
  const closed = once(daemon, 'close');
  daemon.close();
  await closed;
  await rm(folder, { recursive: true });
});

it('announces a refusal through the request, so that it can be caught there', async () => {
  const agent = new GuardedHttpAgent(buildGuard({ allowedCidrs: [] }), { maxSockets: 1 });
  const errors = await Promise.all(
    [1, 2, 3].map(() =>
      once(request({ host: '127.0.0.1', port: 9, agent }).end(), 'never').catch((error) => error),
    ),
  );
  expect(errors.map(({ code }) => code)).toEqual(Array(3).fill('ERR_BLOCKED_ADDRESS'));
  agent.destroy();
});
