import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@hookferry/client';
import { checkHistory } from './check-key';
import { checkOperations } from './check-operations';

const queue = { name: 'deliveries', paused: false };
const same = { check: 'same_settings', state: 'good', detail: 'the same', docs: 'docs/configuration.md' };
const healthy = {
  '/v1/operations': { queues: [queue, { name: 'events', paused: false }], workers: [{ id: 'f00d42' }] },
  '/v1/operations/readiness': { checks: [{ ...same, check: 'tls', state: 'missing' }, same] },
};

/** What a check finds of an API with these responses; a path that it lacks is refused as to a customer's key. */
async function findingsOf(responses: Readonly<Record<string, object>>, check = checkOperations) {
  const server = createServer(({ url = '' }, response) => {
    const body = responses[url];
    response.writeHead(body ? 200 : 403, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? { status: 403, code: 'insufficient_scope', detail: 'no' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return await check(createClient({ baseUrl, apiKey: 'whk_test' }));
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

it('finds nothing wrong where nothing is', async () => {
  expect((await findingsOf(healthy)).map(({ check, state }) => `${check} ${state}`)).toEqual([
    'queues good',
    'workers good',
    'settings good',
  ]);
});

it('sees a paused queue, once for all its shards, and says how to resume it', async () => {
  const paused = { ...queue, paused: true };
  const operations = { queues: [paused, paused], workers: [{ id: 'f00d42' }] };
  expect(await findingsOf({ ...healthy, '/v1/operations': operations })).toContainEqual({
    check: 'queues',
    state: 'bad',
    detail: 'paused: deliveries',
    advice: expect.stringContaining('hookferry-admin queues resume deliveries'),
  });
});

it('sees that no worker runs, and that workers have other settings', async () => {
  const found = await findingsOf({
    '/v1/operations': { queues: [queue], workers: [] },
    '/v1/operations/readiness': { checks: [{ ...same, state: 'missing', detail: 'Processes differ' }] },
  });
  expect(found).toMatchObject([
    { check: 'queues', state: 'good' },
    { check: 'workers', state: 'bad' },
    { check: 'settings', state: 'bad', detail: 'Processes differ' },
  ]);
});

it('says nothing to a key that may not ask', async () => {
  expect(await findingsOf({})).toEqual([]);
});

it.each([
  [
    { history: 'unavailable', history_bytes: null },
    'bad',
    expect.stringMatching(/^PostgreSQL is not reachable/),
  ],
  [{ history: null, history_bytes: 918_450_176 }, 'good', 'reachable'],
  [{ history: null, history_bytes: null }, 'good', 'none: all is in Redis'],
])('tells of a history with %j that it is %s', async (usage, state, detail) => {
  const found = await findingsOf({ '/v1/account/usage': usage }, checkHistory);
  expect(found).toMatchObject([{ check: 'history', state, detail }]);
});
