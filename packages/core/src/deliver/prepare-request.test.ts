import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verify } from '@hookferry/receiver';
import { verify as verifyWithOctokit } from '@octokit/webhooks-methods';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { type Endpoint, newestSecret } from '../domain/endpoint';
import type { NewSpan, TraceContext } from '../domain/trace';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { contentOf } from './cloudevents';
import {
  type KeySignature,
  prepareRequest,
  type RequestStyle,
  signBody,
  signMessage,
} from './prepare-request';
import { TRACE_OPEN_MS, traceAttempt } from './send-attempt';

describe('trace attempt', () => {
  const ACCEPTED_AT = 1_700_000_000_000;
  const contextOf = (digit: string): TraceContext => ({
    traceId: digit.repeat(32),
    spanId: digit.repeat(16),
    isSampled: true,
  });
  const EVENT = contextOf('a');
  const BEFORE = contextOf('b');

  /** What the span of an attempt is begun with. */
  function begunWith(afterMs: number, trace?: TraceContext, previousTrace?: TraceContext): NewSpan {
    const begun: NewSpan[] = [];
    const event = buildEvent({ acceptedAt: ACCEPTED_AT, ...(trace === undefined ? {} : { trace }) });
    traceAttempt(
      { event, endpoint: buildEndpoint(), previousTrace },
      (span) => {
        begun.push(span);
        return { context: contextOf('c'), parent: span.parent, links: [], startedAt: span.startedAt };
      },
      ACCEPTED_AT + afterMs,
    );
    const { startedAt: _startedAt, ...place } = begun[0] ?? { startedAt: 0 };
    return place as NewSpan;
  }

  it.each([
    ['is below its event', 0, EVENT, undefined, { parent: EVENT, links: [] }],
    ['is linked to the attempt before', TRACE_OPEN_MS - 1, EVENT, BEFORE, { parent: EVENT, links: [BEFORE] }],
    [
      'that comes late has a trace of its own, linked to its event',
      TRACE_OPEN_MS,
      EVENT,
      undefined,
      { links: [EVENT] },
    ],
    [
      'that comes late is linked to the attempt before as well',
      TRACE_OPEN_MS,
      EVENT,
      BEFORE,
      { links: [BEFORE, EVENT] },
    ],
    ['of an event without a trace has one of its own', 0, undefined, undefined, { links: [] }],
  ])('an attempt %s', (_what, afterMs, trace, previousTrace, place) => {
    expect(begunWith(afterMs, trace, previousTrace)).toEqual(place);
  });

  it.each([
    [
      'https://user:secret@hooks.example.com:8443/in/1?token=secret#secret',
      'https://hooks.example.com:8443/in/1',
    ],
    ['https://hooks.example.com', 'https://hooks.example.com/'],
  ])('tells nothing secret of %s', (url, told) => {
    const place = { context: EVENT, parent: undefined, links: [], startedAt: 0 };
    const endpoint = buildEndpoint({ url });
    expect(traceAttempt({ event: buildEvent(), endpoint }, () => place, 0).url).toBe(told);
  });
});

describe('prepare request', () => {
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
    readonly signed?: KeySignature;
  }

  function prepare(change: Change = {}) {
    const endpoint = buildEndpoint({ url: 'https://receiver.example.com/hooks?a=1', ...change.endpoint });
    const event = buildEvent(change.body === undefined ? {} : { body: change.body });
    const input = {
      endpoint,
      event,
      content: contentOf({ event, endpoint }),
      attempt: change.attempt ?? 1,
      isTest: change.isTest ?? false,
      trace: change.trace,
      now: change.now ?? NOW,
      signed: change.signed,
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

    describe('with a key', () => {
      const signed = { kid: 'kid_1', signature: 'v1a,c2lnbmVk', at: NOW };
      const signaturesOf = ({ request }: ReturnType<typeof prepare>) => request.headers['webhook-signature'];

      it('sends what was signed by it, and nothing that only the secret verifies', () => {
        const { request } = prepare({ endpoint: { signing: 'ed25519' }, signed });
        expect(request.headers).toEqual({
          'content-type': 'application/json',
          'user-agent': 'hooks/1.2',
          'webhook-id': expect.any(String),
          'webhook-timestamp': '1700000000',
          'webhook-signature': 'v1a,c2lnbmVk',
          'webhook-key-id': 'kid_1',
          'x-service-attempt': '1',
        });
      });

      it('sends both, the one by the secret first, and the plain one as ever', async () => {
        const both = prepare({ endpoint: { signing: 'both' }, signed });
        expect(signaturesOf(both)).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1a,c2lnbmVk$/);
        expect(both.request.headers['webhook-key-id']).toBe('kid_1');
        const { secret, request } = both;
        expect(await verifyPlain({ ...request, secret })).toHaveProperty('type');
        expect(await verify({ ...request, secret, now: 1_700_000_000 })).toHaveProperty('type');
      });

      it('sends nothing of it where only the secret signs', () => {
        const { request } = prepare({ signed });
        expect(request.headers['webhook-signature']).not.toContain('v1a');
        expect(request.headers).not.toHaveProperty('webhook-key-id');
      });

      it.each(['ed25519', 'both'] as const)('sends nothing unsigned (%s)', (signing) => {
        expect(() => prepare({ endpoint: { signing } })).toThrow(TypeError);
      });

      it("lets no header of the endpoint's own stand in for the plain signature", () => {
        const headers = { 'x-acme-signature': 'forged', authorization: 'Bearer t' };
        const own = { ...style, signatureHeader: { name: 'X-Acme-Signature', prefix: '' } };
        const { request } = prepare({ endpoint: { signing: 'ed25519', headers }, signed, style: own });
        expect(request.headers).not.toHaveProperty('x-acme-signature');
        expect(request.headers.authorization).toBe('Bearer t');
      });
    });

    it("adds the endpoint's own headers, and lets none of them replace ours", async () => {
      const headers = { authorization: 'Bearer t', 'x-service-signature': 'forged', 'webhook-id': 'forged' };
      const endpoint = buildEndpoint({ headers });
      const event = buildEvent();
      const request = prepareRequest(
        { endpoint, event, content: contentOf({ event, endpoint }), attempt: 1, isTest: false, now: NOW },
        style,
      );
      const { secret } = newestSecret(endpoint);
      expect(request.headers.authorization).toBe('Bearer t');
      expect(request.headers['webhook-id']).toBe(event.id);
      expect(await verifyPlain({ ...request, secret })).toHaveProperty('type');
    });
  });
});

describe('sign', () => {
  // The test vector that Standard Webhooks publishes.
  const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const OTHER_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
  const VECTOR = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1614265330, body: '{"test": 2432232314}' };
  const VECTOR_SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
  const EVENT_BODY = '{"type":"t","data":{"name":"Zoë 🚀"}}';

  function headersOf(message: typeof VECTOR) {
    return {
      'webhook-id': message.id,
      'webhook-timestamp': String(message.timestamp),
      'webhook-signature': signMessage([SECRET], message),
    };
  }

  describe('signMessage', () => {
    it('agrees with the published Standard Webhooks vector', () => {
      expect(signMessage([SECRET], VECTOR)).toBe(VECTOR_SIGNATURE);
    });

    it('gives one signature for each secret, in their order, separated by a space', () => {
      const both = signMessage([OTHER_SECRET, SECRET], VECTOR).split(' ');
      expect(both).toEqual([signMessage([OTHER_SECRET], VECTOR), VECTOR_SIGNATURE]);
    });

    it.each([
      [
        'standardwebhooks',
        (body: string, headers: Record<string, string>) => new StandardWebhook(SECRET).verify(body, headers),
      ],
      [
        'svix',
        (body: string, headers: Record<string, string>) => new SvixWebhook(SECRET).verify(body, headers),
      ],
    ])('is accepted by %s, and refused after one changed byte', (_name, check) => {
      const message = { ...VECTOR, timestamp: Math.floor(Date.now() / 1000) };
      const headers = headersOf(message);
      expect(check(message.body, headers)).toEqual({ test: 2432232314 });
      expect(() => check(message.body.replace('3', '4'), headers)).toThrow();
    });

    it('is accepted by our receiver, by either of two secrets', async () => {
      const message = { ...VECTOR, body: EVENT_BODY };
      const signatures = signMessage([OTHER_SECRET, SECRET], message);
      const headers = { ...headersOf(message), 'webhook-signature': signatures };
      for (const secret of [SECRET, OTHER_SECRET]) {
        expect(await verify({ secret, headers, body: EVENT_BODY, now: VECTOR.timestamp })).toMatchObject({
          id: VECTOR.id,
          data: { name: 'Zoë 🚀' },
        });
      }
    });
  });

  describe('signBody', () => {
    it('is accepted by @octokit/webhooks-methods, and refused after one changed byte', async () => {
      const signature = signBody(SECRET, VECTOR.body);
      expect(await verifyWithOctokit(SECRET, VECTOR.body, signature)).toBe(true);
      expect(await verifyWithOctokit(SECRET, `${VECTOR.body} `, signature)).toBe(false);
    });

    it('is accepted by our receiver', async () => {
      const headers = { 'x-service-signature': signBody(SECRET, EVENT_BODY) };
      expect(await verify({ secret: SECRET, headers, body: EVENT_BODY })).toMatchObject({ type: 't' });
    });
  });

  // An HMAC can be made with an empty key: a receiver without its variable would accept any signature.
  describe('an empty secret', () => {
    it.each(['', ' \n', 'whsec_', 'whsec_ '])('is a mistake that is named, for %j', (secret) => {
      expect(() => signBody(secret, VECTOR.body)).toThrow(/^The secret to sign with is empty/);
      expect(() => signMessage([SECRET, secret], VECTOR)).toThrow(/^The secret to sign with is empty/);
    });

    it('is no list of none', () => {
      expect(() => signMessage([], VECTOR)).toThrow(/^There are no secrets to sign with/);
    });

    it('is one that is no base64 at all, where its bytes are the key', () => {
      expect(() => signMessage(['whsec_%%%'], VECTOR)).toThrow(/^The secret has no key in base64/);
    });
  });

  describe('the corpus that every receiver runs', () => {
    interface Case {
      readonly name: string;
      readonly secrets: readonly string[];
      readonly headers: Readonly<Record<string, string>>;
      readonly body_base64: string;
    }
    const corpus = join(__dirname, '../../../../conformance/signatures.json');
    const { cases } = JSON.parse(readFileSync(corpus, 'utf8')) as { readonly cases: readonly Case[] };
    const named = (name: string) => cases.find((each) => each.name === name);

    // The service signs the text that it stored; bytes that are no UTF-8 are for receivers.
    it('is what is signed here: the service signature', () => {
      const { secrets = [], headers = {}, body_base64: body = '' } = named('service signature') ?? {};
      expect(signBody(String(secrets[0]), Buffer.from(body, 'base64').toString())).toBe(
        headers['x-service-signature'],
      );
    });

    it.each(['standard signature', 'an empty body'])('is what is signed here: %s', (name) => {
      const { secrets = [], headers = {}, body_base64: body = '' } = named(name) ?? {};
      const message = {
        id: String(headers['webhook-id']),
        timestamp: Number(headers['webhook-timestamp']),
        body: Buffer.from(body, 'base64').toString(),
      };
      expect(signMessage(secrets, message)).toBe(headers['webhook-signature']);
    });
  });
});
