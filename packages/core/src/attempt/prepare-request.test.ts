import { verify } from '@hookferry/receiver';
import type { Endpoint } from '../model/endpoint';
import { newestSecret } from '../model/endpoint-secrets';
import type { TraceContext } from '../model/trace';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { prepareRequest, type RequestStyle } from './prepare-request';

const NOW = 1_700_000_000_999;

const style: RequestStyle = {
  userAgent: 'hooks/1.2',
  signatureHeader: { name: 'X-Service-Signature', prefix: 'sha256=' },
};

interface Change {
  readonly attempt?: number;
  readonly isTest?: boolean;
  readonly trace?: TraceContext;
  readonly now?: number;
  readonly style?: RequestStyle;
  readonly body?: string;
  readonly endpoint?: Partial<Endpoint>;
}

function prepare(change: Change = {}) {
  const endpoint = buildEndpoint({ url: 'https://receiver.example.com/hooks?a=1', ...change.endpoint });
  const event = buildEvent(change.body === undefined ? {} : { body: change.body });
  const input = {
    endpoint,
    event,
    attempt: change.attempt ?? 1,
    isTest: change.isTest ?? false,
    trace: change.trace,
    now: change.now ?? NOW,
  };
  const { secret } = newestSecret(endpoint);
  return { endpoint, secret, event, request: prepareRequest(input, change.style ?? style) };
}

interface Signed {
  readonly secret: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** As a receiver does that looks at the plain signature of the body only. */
async function verifyPlain(
  { secret, body, headers }: Signed,
  name = 'x-service-signature',
  prefix = 'sha256=',
) {
  const plain = { [name]: headers[name] ?? '' };
  return await verify({ secret, body, headers: plain, serviceHeader: { name, prefix } });
}

describe('prepareRequest', () => {
  it('tells the place in a trace only if it is to, and nothing else changes by it', () => {
    const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
    const { traceparent, ...headers } = prepare({ trace, style: { ...style, tellsTrace: true } }).request
      .headers;
    expect(traceparent).toBe(`00-${trace.traceId}-${trace.spanId}-01`);
    const told = Object.keys(headers);
    expect(Object.keys(prepare({ trace }).request.headers)).toEqual(told);
    expect(Object.keys(prepare({ style: { ...style, tellsTrace: true } }).request.headers)).toEqual(told);
  });

  it('says of a test that it is one', () => {
    expect(prepare({ isTest: true }).request.headers).toMatchObject({ 'x-service-test': 'true' });
    expect(prepare().request.headers).not.toHaveProperty('x-service-test');
  });

  it("sends the event's bytes to the endpoint's URL, under exactly these headers", () => {
    const { endpoint, event, request } = prepare();
    expect(request).toEqual({
      url: endpoint.url,
      body: event.body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'hooks/1.2',
        'x-service-signature': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
        'webhook-id': event.id,
        'webhook-timestamp': '1700000000',
        'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
        'x-service-attempt': '1',
      },
    });
  });

  it("signs so that a receiver who knows the endpoint's secret can verify both signatures", async () => {
    const { secret, request } = prepare({ body: '{"type":"t","data":"Zoë 🚀"}' });
    const { body, headers } = request;
    const event = { type: 't', data: 'Zoë 🚀' };
    expect(await verifyPlain({ secret, body, headers })).toEqual(event);
    expect(await verify({ secret, headers, body, now: 1_700_000_000 })).toMatchObject(event);
  });

  it('tells the number of the attempt, and signs its time', async () => {
    const { secret, request } = prepare({ attempt: 7, now: NOW + 3_600_000 });
    const { body, headers } = request;
    expect(headers).toMatchObject({ 'x-service-attempt': '7', 'webhook-timestamp': '1700003600' });
    expect(await verify({ secret, headers, body, now: 1_700_003_600 })).toMatchObject({
      timestamp: 1_700_003_600,
    });
  });

  it("has the endpoint's own time-out and TLS with it, if there are any", () => {
    const own = { timeoutMs: 3_000, tls: { ca: 'a', certificate: 'b', key: 'c' } };
    expect(prepare({ endpoint: own }).request).toMatchObject(own);
  });

  it("writes the plain signature under the operator's header and prefix", async () => {
    const { secret, request } = prepare({
      style: { ...style, signatureHeader: { name: 'X-Acme-Signature', prefix: '' } },
    });
    expect(request.headers['x-acme-signature']).toMatch(/^[0-9a-f]{64}$/);
    expect(await verifyPlain({ ...request, secret }, 'x-acme-signature', '')).toHaveProperty('type');
    expect(request.headers).not.toHaveProperty('x-service-signature');
  });

  it("adds the endpoint's own headers, and lets none of them replace ours", async () => {
    const headers = { authorization: 'Bearer t', 'x-service-signature': 'forged', 'webhook-id': 'forged' };
    const endpoint = buildEndpoint({ headers });
    const event = buildEvent();
    const request = prepareRequest({ endpoint, event, attempt: 1, isTest: false, now: NOW }, style);
    const { secret } = newestSecret(endpoint);
    expect(request.headers.authorization).toBe('Bearer t');
    expect(request.headers['webhook-id']).toBe(event.id);
    expect(await verifyPlain({ ...request, secret })).toHaveProperty('type');
  });
});
