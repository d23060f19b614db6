import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verify } from '@hookferry/receiver';
import { verify as verifyWithOctokit } from '@octokit/webhooks-methods';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { signBody, signMessage } from './sign';

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

// An HMAC can be made with an empty key, so whoever forgets to set the variable would take what anybody signs.
describe('a secret that is none', () => {
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
