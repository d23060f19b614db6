import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClosables } from '@hookferry/core/testing/closables';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { AuthorizationServer, type RegisteredClient } from '../support/authorization-server';
import type { ManagedProcess } from '../support/managed-process';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const { willClose, closeAll } = createClosables();

// Characters that a form writes otherwise, and one that would end the name.
const SECRET = `s:e cret+%${randomBytes(8).toString('hex')}`;
const withSecret: RegisteredClient = {
  client_id: 'with secret',
  client_secret: SECRET,
  token_endpoint_auth_method: 'client_secret_basic',
  scope: 'hooks more',
};
const forResource: RegisteredClient = { ...withSecret, client_id: 'asker', client_secret: 'x'.repeat(32) };

const KEYS = [
  ['RS256', generateKeyPairSync('rsa', { modulusLength: 2_048 })],
  ['PS256', generateKeyPairSync('rsa', { modulusLength: 2_048 })],
  ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
  ['EdDSA', generateKeyPairSync('ed25519')],
] as const;

const withKeys = KEYS.map(
  ([alg, { publicKey }]): RegisteredClient => ({
    client_id: alg,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: alg,
    jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: `key-${alg}`, alg, use: 'sig' }] },
  }),
);

let stack: Stack;
let server: AuthorizationServer;
beforeAll(async () => {
  server = await AuthorizationServer.start([withSecret, forResource, ...withKeys]);
  stack = await Stack.start({
    workers: 3,
    environment: {
      RETRY_SCHEDULE: '100ms',
      DELIVERY_TIMEOUT: '2s',
      JOB_LOCK_DURATION: '2s',
    },
  });
});
afterAll(async () => {
  await stack.stop();
  await server.stop();
});
afterEach(async () => {
  for (const { id } of registered.splice(0)) await stack.client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  await closeAll();
});

const registered: { id: string }[] = [];

async function receive(...reply: Parameters<typeof Receiver.start>): Promise<Receiver> {
  const receiver = await Receiver.start(...reply);
  willClose({ close: () => receiver.stop() });
  return receiver;
}

/** A webhook with this `auth`, and what one delivery to it comes to. */
async function register(url: string, auth: object, more: object = {}) {
  const webhook = await stack.client.register(url, ['*'], { auth, ...more });
  registered.push(webhook);
  return {
    ...webhook,
    async deliver(status = 'delivered') {
      const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
      return await stack.client.waitForStatus(webhook.id, eventId, status);
    },
  };
}

const oauth2 = (tokenUrl: string, more: object = { client_secret: SECRET }) => ({
  type: 'oauth2',
  token_url: tokenUrl,
  client_id: withSecret.client_id,
  ...more,
});

describe('the same header in each request', () => {
  it.each([
    [
      { type: 'basic', username: 'hooks', password: 'p:w' },
      `Basic ${Buffer.from('hooks:p:w').toString('base64')}`,
    ],
    [{ type: 'bearer', token: 'abc.def' }, 'Bearer abc.def'],
  ])('%j', async (auth, header) => {
    const receiver = await receive();
    const webhook = await register(receiver.url, auth);
    const { attempts } = await webhook.deliver();
    expect(receiver.requests).toMatchObject([{ headers: { authorization: header } }]);
    expect(attempts).toMatchObject([{ request_headers: { authorization: '***' } }]);
  });
});

describe('an authorization server', () => {
  it('gives a token for a client secret, with scope and audience, which a receiver can look up', async () => {
    const receiver = await receive();
    const more = { client_secret: SECRET, scope: 'hooks more', audience: 'https://receiver.example.com' };
    const webhook = await register(receiver.url, oauth2(server.tokenUrl, more));
    const before = server.requests.length;
    await webhook.deliver();
    const token = (receiver.requests[0]?.headers.authorization ?? '').replace('Bearer ', '');
    expect(await server.introspect(token, forResource)).toMatchObject({
      active: true,
      client_id: withSecret.client_id,
      scope: 'hooks more',
      token_type: 'Bearer',
    });
    expect(server.requests.slice(before)).toMatchObject([
      {
        status: 200,
        form: { grant_type: 'client_credentials', scope: 'hooks more', audience: more.audience },
      },
    ]);
  });

  it.each(KEYS)(
    'takes an assertion that a private key signs: %s, in PEM and as a JWK',
    async (alg, { privateKey }) => {
      const receiver = await receive();
      const jwk = { ...privateKey.export({ format: 'jwk' }), kid: `key-${alg}`, alg };
      const forms = alg === 'PS256' ? [jwk] : [privateKey.export({ type: 'pkcs8', format: 'pem' }), jwk];
      for (const private_key of forms) {
        const webhook = await register(receiver.url, {
          ...oauth2(server.tokenUrl, { private_key }),
          client_id: alg,
        });
        await webhook.deliver();
        expect(server.requests.at(-1)).toMatchObject({
          status: 200,
          authorization: '',
          form: { client_id: alg },
        });
        await stack.client.expect(204, 'DELETE', `/v1/webhooks/${registered.pop()?.id}`);
      }
      expect(receiver.requests).toHaveLength(forms.length);
    },
  );

  it('is asked once for all workers, however many deliveries there are', async () => {
    const receiver = await receive();
    const { id } = await register(receiver.url, oauth2(server.tokenUrl));
    const before = server.requests.length;
    const events = await Promise.all(
      Array.from({ length: 60 }, () => stack.client.publish(QUICK_WIN.type, QUICK_WIN.data)),
    );
    for (const event of events) await stack.client.waitForStatus(id, event, 'delivered');
    expect(server.requests).toHaveLength(before + 1);
    expect(receiver.requests).toHaveLength(60);
    expect(new Set(receiver.requests.map(({ headers }) => headers.authorization)).size).toBe(1);
  });

  it('that refuses the client is explained, and what it says is not repeated', async () => {
    const receiver = await receive();
    const webhook = await register(receiver.url, oauth2(server.tokenUrl, { client_secret: 'a wrong one' }));
    const { attempts } = await webhook.deliver('exhausted');
    expect(attempts).toHaveLength(2);
    expect(attempts[0]).toMatchObject({
      outcome: 'token_error',
      response_status: null,
      response_body: null,
      error: 'No access token: the token URL responded with 401 (invalid_client).',
      token_error: { status: 401, error: 'invalid_client' },
    });
    expect(receiver.requests).toEqual([]);
  });

  it('is asked anew when the webhook gets another secret, and what was held flows at once', async () => {
    const receiver = await receive();
    const webhook = await register(receiver.url, oauth2(server.tokenUrl, { client_secret: 'a wrong one' }));
    await webhook.deliver('exhausted');
    const event = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await stack.client.waitForStatus(webhook.id, event, 'held');
    await stack.client.expect(200, 'PATCH', `/v1/webhooks/${webhook.id}`, {
      auth: { client_secret: SECRET },
    });
    const { attempts } = await stack.client.waitForStatus(webhook.id, event, 'delivered');
    expect(attempts).toHaveLength(1);
  });
});

describe('a receiver that refuses every token', () => {
  it('leads to one more request for a token, not to one for each delivery', async () => {
    const receiver = await receive(() => 401);
    const { id } = await register(receiver.url, oauth2(server.tokenUrl));
    const before = server.requests.length;
    const events = await Promise.all(
      Array.from({ length: 20 }, () => stack.client.publish(QUICK_WIN.type, QUICK_WIN.data)),
    );
    await receiver.waitFor(25);
    expect(events).toHaveLength(20);
    // The first one, which does not count, and one within the minute.
    expect(server.requests).toHaveLength(before + 2);
    expect(new Set(receiver.requests.map(({ headers }) => headers.authorization)).size).toBe(2);
    expect(id).toMatch(/^wh_/);
  });

  it('gets the next token as soon as there is one', async () => {
    const tokens = new Set<string | undefined>();
    const receiver = await receive(({ headers }) => {
      tokens.add(headers.authorization);
      return tokens.size > 1 ? 204 : 401;
    });
    const webhook = await register(receiver.url, oauth2(server.tokenUrl));
    const { attempts } = await webhook.deliver();
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['http_4xx', 'delivered']);
  });
});

/** An authorization server that does what it is told. */
async function startTokenUrl(respond: (response: ServerResponse, count: number) => unknown) {
  const seen = { count: 0 };
  const http: Server = createServer((request, response) => {
    request.resume();
    seen.count += 1;
    void respond(response, seen.count);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  willClose({
    async close() {
      http.close();
      http.closeAllConnections();
    },
  });
  return { seen, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/token` };
}

function grant(response: ServerResponse, more: object = {}): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ access_token: 'a-token', token_type: 'Bearer', expires_in: 3_600, ...more }));
}

describe('a token URL that attacks', () => {
  it.each<[string, (response: ServerResponse) => unknown, object]>([
    ['never responds', () => {}, { status: null }],
    [
      'drips without end',
      (response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
      },
      { status: null },
    ],
    [
      'sends as much as it can',
      (response) => {
        response.writeHead(200);
        const more = () => {
          while (!response.destroyed && response.write('{"access_token":"'.repeat(4_096)));
        };
        response.on('drain', more);
        more();
      },
      { status: 200 },
    ],
    [
      'gives a token that is no header',
      (response) => grant(response, { access_token: 'a\r\nx-admin: 1' }),
      { status: 200 },
    ],
    [
      'gives a token of a megabyte',
      (response) => grant(response, { access_token: 'a'.repeat(1_000_000) }),
      { status: 200 },
    ],
    ['gives a token of another kind', (response) => grant(response, { token_type: 'DPoP' }), { status: 200 }],
    [
      'repeats the secret as its error',
      (response) => response.writeHead(400).end(JSON.stringify({ error: SECRET, error_description: SECRET })),
      { status: 400, error: null },
    ],
  ])('that %s leads to an attempt without a token', async (_what, respond, tokenError) => {
    const receiver = await receive();
    const token = await startTokenUrl(respond);
    const webhook = await register(receiver.url, oauth2(token.url));
    const event = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    const delivery = await until(async () => {
      const [found] = await stack.client.listDeliveries(webhook.id);
      return found && found.attempt_count > 0 ? await stack.client.readDelivery(found.id) : undefined;
    });
    expect(delivery.event_id).toBe(event);
    expect(delivery.attempts[0]).toMatchObject({ outcome: 'token_error', token_error: tokenError });
    expect(JSON.stringify(delivery)).not.toContain(SECRET);
    expect(receiver.requests).toEqual([]);
  });

  it('that leads elsewhere is not followed', async () => {
    const inside = await receive();
    const token = await startTokenUrl((response) => response.writeHead(307, { location: inside.url }).end());
    const receiver = await receive();
    const webhook = await register(receiver.url, oauth2(token.url));
    const { attempts } = await webhook.deliver('exhausted');
    expect(attempts[0]).toMatchObject({ outcome: 'token_error', token_error: { status: 307 } });
    expect(inside.requests).toEqual([]);
  });

  it.each([
    'http://169.254.169.254/token',
    'http://[::ffff:10.0.0.1]/token',
    'http://[fd00::1]/token',
    'http://0x7f.1:22/',
  ])('is not taken if it is inside: %s', async (url) => {
    const receiver = await receive();
    const input = { url: receiver.url, events: ['*'], auth: oauth2(url) };
    const { body } = await stack.client.expect<{ errors: unknown }>(422, 'POST', '/v1/webhooks', input);
    expect(body).toMatchObject({ errors: [{ pointer: '/auth/token_url' }] });
  });
});

describe('an authorization server that is away', () => {
  it('opens its own breaker alone: what comes then is held, and flows once it is back', async () => {
    const receiver = await receive();
    const port = await findClosedPort();
    const schedule = { retry_schedule: Array.from({ length: 20 }, () => '1s') };
    const webhook = await register(receiver.url, oauth2(`http://127.0.0.1:${port}/token`), schedule);
    const events = await Promise.all(
      Array.from({ length: 30 }, () => stack.client.publish(QUICK_WIN.type, QUICK_WIN.data)),
    );
    const [held, tried] = await until(async () => {
      const deliveries = await stack.client.listDeliveries(webhook.id);
      const waiting = deliveries.find(({ hold }) => hold?.reason === 'no_token');
      const begun = deliveries.find(({ attempt_count: attempts }) => attempts > 0);
      return waiting && begun && ([waiting, begun] as const);
    });
    expect(held).toMatchObject({ status: 'held' });
    const { attempts } = await stack.client.readDelivery(tried.id);
    expect(attempts[0]).toMatchObject({
      outcome: 'token_error',
      error: 'No access token: the request to the token URL ended with connect_refused.',
      token_error: { status: null, error: null },
    });
    const { body } = await stack.client.expect<{ health: { breaker: string } }>(
      200,
      'GET',
      `/v1/webhooks/${webhook.id}`,
    );
    expect(body.health.breaker).toBe('closed');

    const back = createServer((request, response) => {
      request.resume();
      grant(response);
    });
    back.listen(port, '127.0.0.1');
    willClose({
      async close() {
        back.close();
        back.closeAllConnections();
      },
    });
    for (const event of events) await stack.client.waitForStatus(webhook.id, event, 'delivered');
    expect(receiver.requests).toHaveLength(30);
  });

  it('is asked by another worker when the one that asked was killed', async () => {
    const receiver = await receive();
    const token = await startTokenUrl((response, count) => {
      if (count > 1) grant(response);
    });
    await stack.stopWorkers();
    const doomed = await stack.startWorker();
    const webhook = await register(receiver.url, oauth2(token.url));
    const event = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
    await until(async () => (token.seen.count > 0 ? true : undefined));
    stack.workers.splice(stack.workers.indexOf(doomed), 1);
    await doomed.end('SIGKILL');
    await stack.startWorker();
    await stack.startWorker();
    const { attempts } = await stack.client.waitForStatus(webhook.id, event, 'delivered');
    expect(attempts).toHaveLength(1);
    expect(token.seen.count).toBe(2);
  });
});

describe('a worker that may not reach the token URL', () => {
  let worker: ManagedProcess;
  beforeAll(async () => {
    await stack.stopWorkers();
    worker = await stack.startWorker({ DELIVERY_ALLOWED_CIDRS: '' });
  });

  it.each(['127.0.0.1', 'localhost', '[::1]'])('asks nobody at %s', async (host) => {
    const inside = await startTokenUrl((response) => grant(response));
    const receiver = await receive();
    const webhook = await register(receiver.url, oauth2(inside.url.replace('127.0.0.1', host)));
    const { attempts } = await webhook.deliver('exhausted');
    expect(attempts[0]).toMatchObject({
      outcome: 'token_error',
      error: 'No access token: the request to the token URL ended with blocked_address.',
    });
    expect(inside.seen.count).toBe(0);
    await worker.waitForLine(
      ({ message, webhook_id: webhookId, result }) =>
        message === 'token.requested' && webhookId === webhook.id && result === 'blocked_address',
    );
  });
});
