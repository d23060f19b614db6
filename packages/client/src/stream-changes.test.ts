import { type Client, createClient } from './client';
import type { ClientOptions } from './options';
import { ApiServer, cutAfter, problem, type Reply } from './testing/api-server';
import { failureOf } from './testing/failure-of';

let server: ApiServer;
afterEach(() => server.stop());

async function serve(options: Partial<ClientOptions>, ...replies: [Reply, ...Reply[]]): Promise<Client> {
  server = await ApiServer.start(...replies);
  return createClient({ baseUrl: server.baseUrl, apiKey: 'whk_1', ...options });
}

const TYPE = 'text/event-stream';
const HEAD = 'retry: 2000\n\n: still here\n\n';
const event = (name: string, id: string, data: object = {}) =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const END = 'event: end\ndata: {"reason":"stopping"}\n\n';
const events =
  (text: string): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': TYPE }).end(text);
  };
const cutEvents = (text: string) => cutAfter(text, TYPE);

/** Follows until there is nothing more, or so many have come. */
async function follow(client: Client, most: number, into: string[] = []): Promise<string[]> {
  for await (const change of client.streamChanges({ webhook_id: 'crm' })) {
    into.push(`${change.event} ${change.id}`);
    if (into.length === most) return into;
  }
  return into;
}
const urls = () => server.requests.map(({ url }) => url);

it('gives each event with its data, whatever stands around it', async () => {
  const client = await serve(
    {},
    events(`${HEAD}${event('webhook', '1-0', { change: 'updated', webhook_id: 'wh_größe' })}`),
  );
  const { value } = await client.streamChanges().next();
  expect(value).toEqual({ event: 'webhook', id: '1-0', data: { change: 'updated', webhook_id: 'wh_größe' } });
});

it.each<[string, Reply]>([
  [
    'is cut',
    cutEvents(HEAD + event('ready', '1-0') + event('replay', '2-0') + event('replay', '3-0').slice(0, 20)),
  ],
  ['ends as if it were whole', events(HEAD + event('ready', '1-0') + event('replay', '2-0'))],
  ['is ended by the service', events(HEAD + event('ready', '1-0') + event('replay', '2-0') + END)],
])('goes on after the last event when it %s', async (_, broken) => {
  const client = await serve({}, broken, events(HEAD + event('ready', '2-0') + event('replay', '3-0')));
  expect(await follow(client, 4)).toEqual(['ready 1-0', 'replay 2-0', 'ready 2-0', 'replay 3-0']);
  expect(urls()).toEqual(['/v1/stream?webhook_id=crm', '/v1/stream?webhook_id=crm&last_event_id=2-0']);
});

it('gives up when it breaks again and again without an event in between', async () => {
  const client = await serve({ retries: 1 }, cutEvents(HEAD + event('ready', '1-0')), cutEvents(HEAD));
  const seen: string[] = [];
  expect(await failureOf(follow(client, 9, seen))).toMatchObject({ code: 'connection_failed' });
  expect(seen).toEqual(['ready 1-0']);
  expect(server.requests).toHaveLength(2);
});

it('ends when the service does not let it in any more', async () => {
  const ended = events(HEAD + event('ready', '1-0') + END);
  const client = await serve({}, ended, problem(401, 'unauthenticated'));
  expect(await failureOf(follow(client, 9))).toMatchObject({ code: 'unauthenticated' });
});
