import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkService, clockOf } from './check-service';

const NOW = Date.parse('2026-11-21T16:00:00.900Z');

it.each([
  ['Sat, 21 Nov 2026 16:00:00 GMT', 'good', 'in step with the API'],
  ['Sat, 21 Nov 2026 16:00:10 GMT', 'good', '9 s behind the API'],
  ['Sat, 21 Nov 2026 15:59:00 GMT', 'bad', '60 s ahead of the API'],
  [null, 'doubtful', 'the response has no time'],
])('with the time %p the clock is %s', (date, state, detail) => {
  expect(clockOf(date, NOW)).toMatchObject({ state, detail });
});

/** What lies behind a proxy that lets through /v1 alone. */
async function checkBehindProxy(status: number) {
  const server = createServer(({ url }, response) => {
    response.writeHead(url === '/v1/status' ? status : 404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await checkService(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

it.each([
  [200, 'good', 'the API accepts events'],
  [404, 'doubtful', '/v1/status responds with 404'],
  [503, 'bad', '/v1/status responds with 503'],
  [500, 'bad', '/v1/status responds with 500'],
])('behind a proxy that lets through /v1 alone, the status %d is %s', async (status, state, detail) => {
  const found = await checkBehindProxy(status);
  expect(found.find(({ check }) => check === 'ready')).toMatchObject({ state, detail });
  // The key is tried unless something is bad.
  const others = found.filter(({ check }) => check !== 'ready');
  expect(others.filter((each) => each.state === 'bad')).toEqual([]);
});
