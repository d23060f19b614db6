import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@hookferry/client';
import { MissedAttempts } from './missed-attempts';

const BEFORE = '2030-01-01T00:00:00.000Z';
const SINCE = '2030-01-01T00:00:01.000Z';
const LATER = '2030-01-01T00:00:02.000Z';
const LAST = '2030-01-01T00:00:03.000Z';

/** What the service has recorded: when each attempt of a delivery began. */
const record: Record<string, readonly string[]> = {
  seen: [BEFORE, SINCE],
  failed: [BEFORE, LAST],
  fresh: [LATER],
  old: [BEFORE],
};

let server: Server;
let asked: string[];
beforeEach(async () => {
  asked = [];
  server = createServer(({ url = '' }, response) => {
    asked.push(url);
    const { pathname } = new URL(url, 'http://service');
    const id = pathname.split('/')[3];
    const deliveryOf = (name: string) => ({ id: name, attempt_count: record[name]?.length ?? 0 });
    const attempts = (record[id ?? ''] ?? []).map((started_at, i) => ({ number: i + 1, started_at }));
    const body = id === undefined ? { data: Object.keys(record).map(deliveryOf) } : { attempts };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => server.close());

const missedOf = (webhook?: string) => {
  const { port } = server.address() as AddressInfo;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'whk_1_x' });
  return new MissedAttempts(client, SINCE, webhook);
};

it('finds what was made since it began and not shown, in the order in which it was made', async () => {
  const missed = missedOf();
  missed.note('seen', 2);
  const found = await missed.find();
  expect(found.map(({ delivery, attempt, at }) => [delivery.id, attempt.number, at])).toEqual([
    ['fresh', 1, LATER],
    ['failed', 2, LAST],
  ]);
  expect(asked.some((url) => url.endsWith('/seen'))).toBe(false);
});

it('asks for one webhook alone if that is what is watched', async () => {
  await missedOf('crm').find();
  expect(asked[0]).toBe('/v1/deliveries?limit=200&webhook_id=crm');
});
