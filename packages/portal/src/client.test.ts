import { type LocalServer, startHttpServer } from '@hookferry/core/testing/local-server';
import { createPortalClient } from './client.ts';

/** Knows one token at a time: the one of the last session. */
class Service {
  exchanges = 0;
  calls = 0;
  /** Of the codes that came. */
  readonly codes: string[] = [];

  private constructor(private readonly server: LocalServer) {}

  static async start(): Promise<Service> {
    const server = await startHttpServer((request, response) => {
      const respond = (status: number, body: unknown) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (request.url === '/v1/portal-sessions/exchange') {
          if (request.headers.authorization !== undefined) return respond(403, PROBLEM);
          service.exchanges += 1;
          service.codes.push((JSON.parse(text) as { code: string }).code);
          return respond(200, { id: 'session', token: `whp_${service.exchanges}`, capabilities: ['read'] });
        }
        service.calls += 1;
        if (request.headers.authorization !== `Bearer whp_${service.exchanges}`) return respond(401, PROBLEM);
        return respond(201, { id: 'wh_1', sent: text });
      });
    });
    const service = new Service(server);
    return service;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  /** Whoever has a token has an old one from now on. */
  endSession(): void {
    this.exchanges += 1;
  }

  link(): Promise<string> {
    return Promise.resolve(`${this.origin}/portal/#code=whc_${this.exchanges}`);
  }

  async stop(): Promise<void> {
    await this.server.close();
  }
}

const PROBLEM = { code: 'unauthenticated', detail: 'No.', request_id: 'req_1' };
const CREATE = { body: { url: 'https://example.com/hook', events: ['*'] } };

let service: Service;
beforeEach(async () => {
  service = await Service.start();
});
afterEach(() => service.stop());

it('opens one session for calls at the same time, and another one once it has ended', async () => {
  const client = createPortalClient({ baseUrl: service.origin, session: () => service.link() });
  const callThrice = () => Promise.all([1, 2, 3].map(() => client.POST('/v1/webhooks', CREATE)));
  await callThrice();
  expect([service.exchanges, service.calls]).toEqual([1, 3]);
  service.endSession();
  const answers = await callThrice();
  // Each was refused once, and sent again as it was.
  expect([service.exchanges, service.calls]).toEqual([3, 9]);
  expect(answers).toEqual(answers.map(() => ({ id: 'wh_1', sent: JSON.stringify(CREATE.body) })));
  expect(service.codes).toEqual(['whc_0', 'whc_2']);
});

it('tells what the session may do, and not its token', async () => {
  const client = createPortalClient({ baseUrl: service.origin, session: () => service.link() });
  expect(await client.session()).toEqual({ id: 'session', capabilities: ['read'] });
});

it('gives the code of a link to another service to nobody', async () => {
  const other = await Service.start();
  const client = createPortalClient({ baseUrl: service.origin, session: () => other.link() });
  await expect(client.GET('/v1/webhooks')).rejects.toMatchObject({
    code: 'unauthenticated',
    detail: expect.stringContaining(`leads to ${other.origin}`),
  });
  expect([service.exchanges, other.exchanges]).toEqual([0, 0]);
  await other.stop();
});

it('asks again with the next call if no link could be had', async () => {
  let isAway = true;
  let asked = 0;
  const session = () => {
    asked += 1;
    return isAway ? Promise.reject(new Error('the shop is away')) : service.link();
  };
  const client = createPortalClient({ baseUrl: service.origin, session });
  await expect(client.session()).rejects.toMatchObject({
    code: 'session_unavailable',
    message: expect.stringContaining('the shop is away'),
  });
  asked = 0;
  await expect(client.GET('/v1/webhooks')).rejects.toMatchObject({ code: 'unauthenticated' });
  // The failing server is not asked again and again.
  expect(asked).toBe(1);
  isAway = false;
  expect(await client.POST('/v1/webhooks', CREATE)).toMatchObject({ id: 'wh_1' });
});
