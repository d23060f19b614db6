import type { OAuth2, ReceiverAuth } from '../domain/receiver-auth';
import type { DeliveryRequest, SentResult } from '../domain/transport';
import { DeliveryScene, NOW, responded, SEND_MS } from '../testing/arrange-delivery';
import { buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

const TOKEN_URL = 'https://auth.example.com/token';
const oauth2: OAuth2 = {
  type: 'oauth2',
  changedAt: 1,
  tokenUrl: TOKEN_URL,
  clientId: 'hooks',
  clientSecret: 'a secret',
};
const by = (auth: ReceiverAuth) => buildEndpoint({ auth });

function granted(token: string, seconds = 3_600): SentResult {
  return responded(200, {
    body: JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: seconds }),
  });
}

function refused(status: number, error: string, change: object = {}): SentResult {
  return responded(status, {
    body: JSON.stringify({ error, error_description: 'a description' }),
    ...change,
  });
}

const urlsOf = (requests: readonly DeliveryRequest[]) => requests.map(({ url }) => url);

describe('basic and bearer', () => {
  it.each<[ReceiverAuth, string]>([
    [
      { type: 'basic', changedAt: 1, username: 'hooks', password: 'pä:ss' },
      `Basic ${Buffer.from('hooks:pä:ss').toString('base64')}`,
    ],
    [{ type: 'bearer', changedAt: 1, token: 'abc.def' }, 'Bearer abc.def'],
  ])('are in the request: %j', async (auth, header) => {
    const endpoint = { ...by(auth), headers: { 'x-own': '1' } };
    const { deliver, requests, readRecord } = await scene.arrange({ endpoint, results: [responded(204)] });
    await deliver();
    expect(requests).toMatchObject([{ url: endpoint.url, headers: { authorization: header, 'x-own': '1' } }]);
    expect(await readRecord()).toMatchObject({ attempts: [{ addedHeaders: ['x-own', 'authorization'] }] });
  });

  it('leave no header at an endpoint without', async () => {
    const { deliver, requests } = await scene.arrange({ results: [responded(204)] });
    await deliver();
    expect(requests[0]?.headers).not.toHaveProperty('authorization');
  });
});

describe('an access token', () => {
  it('is asked for once, and is in the request', async () => {
    const endpoint = by(oauth2);
    const results = [granted('t1'), responded(204), responded(204)];
    const { deliver, requests, signals } = await scene.arrange({ endpoint, results });
    await deliver();
    expect(urlsOf(requests)).toEqual([TOKEN_URL, endpoint.url]);
    expect(requests[1]?.headers.authorization).toBe('Bearer t1');
    expect(signals.named('token.requested')).toMatchObject([{ result: 'granted', endpointId: endpoint.id }]);
    const next = await scene.arrange({ endpoint: { ...endpoint }, results: [responded(204)] });
    await next.deliver();
    expect(urlsOf(next.requests)).toEqual([endpoint.url]);
    expect(next.requests[0]?.headers.authorization).toBe('Bearer t1');
  });

  it('does not count for the time of the attempt', async () => {
    const results = [granted('t1'), responded(204)];
    const { deliver, readRecord } = await scene.arrange({ endpoint: by(oauth2), results });
    await deliver();
    expect(await readRecord()).toMatchObject({
      attempts: [{ startedAt: NOW + SEND_MS, durationMs: SEND_MS }],
    });
  });

  it('that the receiver refuses is replaced before the next attempt, once', async () => {
    const endpoint = by(oauth2);
    const results = [granted('t1'), responded(401), granted('t2'), responded(401)];
    const { deliver, requests, moveClock } = await scene.arrange({ endpoint, results });
    await deliver();
    moveClock(10_000);
    await deliver();
    expect(urlsOf(requests)).toEqual([TOKEN_URL, endpoint.url, TOKEN_URL, endpoint.url]);
    expect(requests[3]?.headers.authorization).toBe('Bearer t2');
    const next = await scene.arrange({ endpoint: { ...endpoint }, results: [responded(401)] });
    next.moveClock(30_000);
    await next.deliver();
    expect(urlsOf(next.requests)).toEqual([endpoint.url]);
    const later = await scene.arrange({
      endpoint: { ...endpoint },
      results: [granted('t3'), responded(204)],
    });
    later.moveClock(90_000);
    await later.deliver();
    expect(later.requests[1]?.headers.authorization).toBe('Bearer t3');
  });

  it('is not replaced because of any other answer', async () => {
    const endpoint = by(oauth2);
    const { deliver, moveClock, requests } = await scene.arrange({
      endpoint,
      results: [granted('t1'), responded(403), responded(403)],
    });
    await deliver();
    moveClock(10_000);
    await deliver();
    expect(urlsOf(requests)).toEqual([TOKEN_URL, endpoint.url, endpoint.url]);
  });
});

describe('without an access token', () => {
  it('the attempt fails with an outcome of its own, and by the same schedule', async () => {
    const results = [refused(401, 'invalid_client')];
    const { deliver, readRecord, requests, signals } = await scene.arrange({ endpoint: by(oauth2), results });
    expect(await deliver()).toEqual({ kind: 'retry', delayMs: 5_000, reason: 'token_error' });
    expect(urlsOf(requests)).toEqual([TOKEN_URL]);
    const { attempts, status } = (await readRecord()) ?? {};
    expect(status).toBe('pending');
    expect(attempts).toMatchObject([
      {
        startedAt: NOW,
        durationMs: SEND_MS,
        outcome: 'token_error',
        error: 'No access token: the token URL responded with 401 (invalid_client).',
        tokenError: { status: 401, code: 'invalid_client' },
      },
    ]);
    expect(JSON.stringify(attempts)).not.toContain('a description');
    expect(signals.named('token.requested')).toMatchObject([
      { result: 'refused', responseStatus: 401, error: 'invalid_client' },
    ]);
  });

  it('an error code that is not registered is not repeated: it may be the secret', async () => {
    const results = [refused(400, 'a secret')];
    const { deliver, readRecord, signals } = await scene.arrange({ endpoint: by(oauth2), results });
    await deliver();
    const { attempts } = (await readRecord()) ?? {};
    expect(attempts).toMatchObject([{ tokenError: { status: 400 } }]);
    expect(JSON.stringify([attempts, signals.all])).not.toContain('a secret');
  });

  it('the breaker of the endpoint stays as it is', async () => {
    const results = [refused(503, 'temporarily_unavailable')];
    const scheduled = buildAttempt({ number: 1, outcome: 'http_5xx' });
    const log = [{ kind: 'attempted', attempt: scheduled, nextAttemptAt: NOW }] as const;
    const { deliver, readBreaker } = await scene.arrange({ endpoint: by(oauth2), results, log });
    await deliver();
    expect(await readBreaker()).toEqual({ failures: 0, openUntil: 0 });
  });

  it('the next deliveries are held, without an attempt, until it is asked for again', async () => {
    const endpoint = by(oauth2);
    const first = await scene.arrange({ endpoint, results: [refused(503, 'server_error')] });
    await first.deliver();
    const next = await scene.arrange({ endpoint: { ...endpoint }, results: [] });
    expect(await next.deliver()).toMatchObject({ kind: 'later' });
    expect(next.signals.named('delivery.held')).toMatchObject([{ reason: 'no_token' }]);
    expect(await next.readRecord()).toMatchObject({ status: 'pending', attempts: [] });
    const last = await scene.arrange({ endpoint: { ...endpoint }, results: [granted('t1'), responded(204)] });
    last.moveClock(2_000);
    expect(await last.deliver()).toEqual({ kind: 'done' });
  });

  it('nothing is counted when the proxy for deliveries is out of order', async () => {
    const endpoint = by(oauth2);
    const { deliver, readRecord } = await scene.arrange({
      endpoint,
      results: [{ kind: 'unsent', error: 'no proxy' }, granted('t1'), responded(204)],
    });
    expect(await deliver()).toMatchObject({ kind: 'later' });
    expect(await deliver()).toEqual({ kind: 'done' });
    expect((await readRecord())?.attempts).toHaveLength(1);
  });
});
