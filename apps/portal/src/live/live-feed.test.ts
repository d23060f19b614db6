import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LiveFeed } from './live-feed';
import type { LiveMessage } from './live-message';

let server: Server;
let requests: IncomingMessage[];
let respond: (response: ServerResponse, request: IncomingMessage) => void;
let feed: LiveFeed;
let onUnauthenticated: jest.Mock<void, []>;
let messages: LiveMessage[];

beforeEach(async () => {
  requests = [];
  messages = [];
  onUnauthenticated = jest.fn();
  server = createServer((request, response) => {
    requests.push(request);
    respond(response, request);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const headers = () => ({ authorization: 'Bearer whp_1' });
  feed = new LiveFeed({ address: `http://127.0.0.1:${port}/`, headers, onUnauthenticated });
  feed.listen((message) => messages.push(message));
});

afterEach(async () => {
  feed.stop();
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

const said = (id: string, event: string, data: object) =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** Resolves when the feed has this status. */
async function becomes(status: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const check = () => feed.read() === status && resolve();
    feed.watch(check);
    check();
  });
}

describe('LiveFeed', () => {
  it('is live once the service says so, and tells what changes', async () => {
    const delivery = { id: 'd', event_id: 'e', webhook_id: 'w', status: 'delivered' };
    respond = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(said('1', 'delivery', { change: 'ended', delivery }) + said('2', 'ready', {}));
    };
    feed.start();
    expect(feed.read()).toBe('connecting');
    await becomes('live');
    expect(messages).toEqual([{ kind: 'delivery', change: 'ended', delivery }, { kind: 'ready' }]);
    expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer whp_1' });
  });

  it('goes on after the last change that it has seen when the connection breaks', async () => {
    let isAgain: (id: unknown) => void = () => undefined;
    const again = new Promise((resolve) => {
      isAgain = resolve;
    });
    respond = (response, request) => {
      if (requests.length > 1) isAgain(request.headers['last-event-id']);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(said('7-1', 'ready', {}), () => requests.length === 1 && response.destroy());
    };
    feed.start();
    expect(await again).toBe('7-1');
    await becomes('live');
  });

  it.each([403, 404])('does not ask again after %s', async (status) => {
    respond = (response) => response.writeHead(status).end();
    feed.start();
    await becomes('polling');
    expect(requests).toHaveLength(1);
  });

  it('says that the session is over', async () => {
    respond = (response) => response.writeHead(401).end();
    const over = new Promise<void>((resolve) => {
      onUnauthenticated.mockImplementation(resolve);
    });
    feed.start();
    await over;
    expect(requests).toHaveLength(1);
  });

  it('leaves the service alone once it is stopped', async () => {
    const closed = new Promise((resolve) => {
      respond = (response) => {
        response.on('close', resolve);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(said('1', 'ready', {}));
      };
    });
    feed.start();
    await becomes('live');
    feed.stop();
    await closed;
    expect(feed.read()).toBe('paused');
  });
});
