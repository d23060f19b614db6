import { EventEmitter, once } from 'node:events';
import { type Client, createClient } from './client';
import { readExport } from './export-deliveries';
import type { ClientOptions } from './options';
import { ApiServer, cutAfter, lines, problem, type Reply } from './testing/api-server';
import { failureOf } from './testing/failure-of';

let server: ApiServer;
afterEach(() => server.stop());

async function serve(options: Partial<ClientOptions>, ...replies: [Reply, ...Reply[]]): Promise<Client> {
  server = await ApiServer.start(...replies);
  return createClient({ baseUrl: server.baseUrl, apiKey: 'whk_1', ...options });
}

const line = (cursor: string) => `${JSON.stringify({ cursor, delivery_id: `größe.${cursor}` })}\n`;
const urls = () => server.requests.map(({ url }) => url);

async function cursorsOf(attempts: AsyncIterable<{ cursor: string }>, into: string[] = []) {
  for await (const { cursor } of attempts) into.push(cursor);
  return into;
}

describe('an export', () => {
  it('gives a line each, and passes over the empty ones', async () => {
    const client = await serve({}, lines(`${line('a')}\n\n${line('b')}`));
    expect(await cursorsOf(client.exportDeliveries({ webhook_id: 'crm' }))).toEqual(['a', 'b']);
    expect(urls()).toEqual(['/v1/deliveries/export?webhook_id=crm']);
  });

  it('is empty when there is nothing', async () => {
    const client = await serve({}, lines(''));
    expect(await cursorsOf(client.exportDeliveries())).toEqual([]);
  });

  it.each<[string, Reply]>([
    ['is cut within a line', cutAfter(line('a') + line('b') + line('c').slice(0, 12))],
    ['is cut between two lines', cutAfter(line('a') + line('b'))],
    ['ends within a line, as if it were whole', lines(line('a') + line('b') + line('c').slice(0, 12))],
  ])('goes on after the last line when it %s', async (_, broken) => {
    const client = await serve({}, broken, lines(line('c') + line('d')));
    const attempts = client.exportDeliveries({ since: '2026-11-21T00:00:00Z', limit: 9 });
    expect(await cursorsOf(attempts)).toEqual(['a', 'b', 'c', 'd']);
    expect(urls()).toEqual([
      '/v1/deliveries/export?since=2026-11-21T00%3A00%3A00Z&limit=9',
      '/v1/deliveries/export?since=2026-11-21T00%3A00%3A00Z&limit=7&cursor=b',
    ]);
  });

  it('does not ask for more than the limit when it is cut after the last line', async () => {
    const client = await serve({}, cutAfter(line('a') + line('b')));
    expect(await cursorsOf(client.exportDeliveries({ limit: 2 }))).toEqual(['a', 'b']);
    expect(server.requests).toHaveLength(1);
  });

  it('gives up when it breaks again and again without a line in between', async () => {
    const client = await serve({ retries: 1 }, cutAfter(line('a')), cutAfter(line('b')), cutAfter('{'));
    const seen: string[] = [];
    const error = await failureOf(cursorsOf(client.exportDeliveries(), seen));
    expect(error).toMatchObject({ name: 'WebhooksConnectionError', code: 'connection_failed' });
    expect(seen).toEqual(['a', 'b']);
    expect(urls().at(-1)).toBe('/v1/deliveries/export?cursor=b');
    expect(server.requests).toHaveLength(3);
  });

  it('breaks at the first cut with retries: 0', async () => {
    const client = await serve({ retries: 0 }, cutAfter(line('a')));
    await failureOf(cursorsOf(client.exportDeliveries()));
    expect(server.requests).toHaveLength(1);
  });

  it('waits for its turn, and throws what is refused', async () => {
    const busy = problem(429, 'rate_limited', { 'retry-after': '0' });
    const client = await serve({}, busy, problem(422, 'invalid_request'));
    const error = await failureOf(cursorsOf(client.exportDeliveries()));
    expect(error).toMatchObject({ name: 'WebhooksApiError', code: 'invalid_request' });
    expect(server.requests).toHaveLength(2);
  });

  it('throws for a line that is not JSON', async () => {
    const client = await serve({}, lines(`${line('a')}<p>\n`));
    const error = await failureOf(cursorsOf(client.exportDeliveries()));
    expect(error).toMatchObject({ code: 'unexpected_response' });
  });

  it('hangs up when its reader leaves', async () => {
    const socket = new EventEmitter();
    const hungUp = once(socket, 'close');
    const client = await serve({}, (response) => {
      response.on('close', () => socket.emit('close'));
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write(line('a'));
    });
    const attempts = client.exportDeliveries();
    expect(await attempts.next()).toMatchObject({ value: { cursor: 'a' } });
    await attempts.return();
    await hungUp;
  });

  it("ends with the caller's signal", async () => {
    const controller = new AbortController();
    const client = await serve({}, (response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write(line('a'));
    });
    const attempts = client.exportDeliveries({}, { signal: controller.signal });
    expect(await attempts.next()).toMatchObject({ value: { cursor: 'a' } });
    controller.abort();
    expect(await failureOf(attempts.next())).toMatchObject({ code: 'aborted' });
  });

  it('takes a connection for broken that gives no sign of life', async () => {
    server = await ApiServer.start(
      (response) => {
        response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write(line('a'));
      },
      lines(line('b')),
    );
    const seen: string[] = [];
    const attempts = readExport(() => fetch(server.baseUrl), {}, undefined, {
      silenceMs: 100,
      retries: 1,
      onRetry: ({ error }) => seen.push((error as { code?: string }).code ?? ''),
    });
    expect(await cursorsOf(attempts, seen)).toEqual(['a', 'timeout', 'b']);
  });
});
