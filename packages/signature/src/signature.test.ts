import { verify as verifyWithOctokit } from '@octokit/webhooks-methods';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { signBody, signMessage, verifyBody, verifyMessage } from './index';

// The test vector that Standard Webhooks publishes.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const VECTOR = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1614265330, body: '{"test": 2432232314}' };
const VECTOR_SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';

function headersOf(message: typeof VECTOR, secrets: readonly string[] = [SECRET]) {
  return {
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': signMessage(secrets, message),
  };
}

describe('signMessage', () => {
  it('agrees with the published Standard Webhooks vector', () => {
    expect(signMessage([SECRET], VECTOR)).toBe(VECTOR_SIGNATURE);
  });

  it('signs bytes and text alike', () => {
    const body = '{"name":"Zoë 🚀"}';
    expect(signMessage([SECRET], { ...VECTOR, body: Buffer.from(body) })).toBe(
      signMessage([SECRET], { ...VECTOR, body }),
    );
  });

  it('gives one signature for each secret, in their order, separated by a space', () => {
    const other = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
    const both = signMessage([other, SECRET], VECTOR).split(' ');
    expect(both).toEqual([signMessage([other], VECTOR), VECTOR_SIGNATURE]);
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
  ])('is accepted by %s, and refused after one changed byte', (_name, verify) => {
    const message = { ...VECTOR, timestamp: Math.floor(Date.now() / 1000) };
    const headers = headersOf(message);
    expect(verify(message.body, headers)).toEqual({ test: 2432232314 });
    expect(() => verify(message.body.replace('3', '4'), headers)).toThrow();
  });
});

describe('signBody', () => {
  it('is accepted by @octokit/webhooks-methods, and refused after one changed byte', async () => {
    const signature = signBody(SECRET, VECTOR.body);
    expect(await verifyWithOctokit(SECRET, VECTOR.body, signature)).toBe(true);
    expect(await verifyWithOctokit(SECRET, `${VECTOR.body} `, signature)).toBe(false);
  });
});

describe('verifyBody', () => {
  it('accepts its own signature and refuses another body, secret or form', () => {
    const signature = signBody(SECRET, VECTOR.body);
    expect(verifyBody(SECRET, VECTOR.body, signature)).toBe(true);
    expect(verifyBody(SECRET, `${VECTOR.body} `, signature)).toBe(false);
    expect(verifyBody(`${SECRET}x`, VECTOR.body, signature)).toBe(false);
    expect(verifyBody(SECRET, VECTOR.body, signature.toUpperCase())).toBe(false);
    expect(verifyBody(SECRET, VECTOR.body, '')).toBe(false);
  });
});

describe('verifyMessage', () => {
  const verify = (change: Partial<Parameters<typeof verifyMessage>[0]> = {}) =>
    verifyMessage({
      secret: SECRET,
      headers: headersOf(VECTOR),
      body: VECTOR.body,
      nowSeconds: VECTOR.timestamp,
      ...change,
    });

  it('accepts a good request, also when only one of several signatures is known to it', () => {
    expect(verify()).toBe(true);
    const headers = headersOf(VECTOR, ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', SECRET]);
    expect(verify({ headers })).toBe(true);
  });

  it('refuses a changed body, id or time, and another secret', () => {
    expect(verify({ body: `${VECTOR.body} ` })).toBe(false);
    expect(verify({ headers: { ...headersOf(VECTOR), 'webhook-id': 'msg_other' } })).toBe(false);
    expect(verify({ headers: { ...headersOf(VECTOR), 'webhook-timestamp': '1614265331' } })).toBe(false);
    expect(verify({ secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' })).toBe(false);
  });

  it('refuses a request that is older or newer than the tolerance', () => {
    expect(verify({ nowSeconds: VECTOR.timestamp + 300 })).toBe(true);
    expect(verify({ nowSeconds: VECTOR.timestamp + 301 })).toBe(false);
    expect(verify({ nowSeconds: VECTOR.timestamp - 301 })).toBe(false);
    expect(verify({ nowSeconds: VECTOR.timestamp + 301, toleranceSeconds: 301 })).toBe(true);
  });

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
    'refuses a request without %s',
    (name) => {
      expect(verify({ headers: { ...headersOf(VECTOR), [name]: undefined } })).toBe(false);
    },
  );

  it('refuses a timestamp that is not a whole number', () => {
    expect(verify({ headers: { ...headersOf(VECTOR), 'webhook-timestamp': '1614265330.0' } })).toBe(false);
  });
});

// An HMAC can be made with an empty key, so whoever forgets to set the variable would take what anybody signs.
describe('a secret that is none', () => {
  const none: [string, unknown][] = [
    ["''", ''],
    ['white space', ' \n'],
    ['its prefix alone', 'whsec_'],
    ['a variable that is not set', undefined],
    ['null', null],
    ['an empty array', []],
    ['an array with an empty secret', ['']],
  ];

  it.each(none)('is a mistake that is named, for %s', (_what, given) => {
    const secret = given as string;
    const headers = headersOf(VECTOR);
    for (const act of [
      () => signBody(secret, VECTOR.body),
      () => verifyBody(secret, VECTOR.body, signBody(SECRET, VECTOR.body)),
      () => signMessage([SECRET, secret], VECTOR),
      () => verifyMessage({ secret, headers, body: VECTOR.body }),
      () => verifyMessage({ secret, headers: {}, body: VECTOR.body }),
    ]) {
      expect(act).toThrow(TypeError);
      expect(act).toThrow(/^The secret (must be a string|is empty).*variable set/);
    }
  });

  it.each([[[]], [undefined], [SECRET]])('is a mistake in the place of several, as %j', (secrets) => {
    expect(() => signMessage(secrets as string[], VECTOR)).toThrow(/^There are no secrets to sign with/);
  });

  it('is one that is no base64 at all, where its bytes are the key', () => {
    expect(() => signMessage(['whsec_%%%'], VECTOR)).toThrow(/^The secret has no key in base64/);
    expect(() => verifyMessage({ secret: '%%%', headers: {}, body: '' })).toThrow(TypeError);
  });
});

describe('a body that was parsed', () => {
  it.each<[string, unknown]>([
    ['object', JSON.parse(VECTOR.body)],
    ['an array', []],
    ['null', null],
    ['undefined', undefined],
    ['number', 1],
  ])('is a mistake that is named: %s', (what, parsed) => {
    const body = parsed as string;
    for (const act of [
      () => signBody(SECRET, body),
      () => verifyBody(SECRET, body, ''),
      () => signMessage([SECRET], { ...VECTOR, body }),
      () => verifyMessage({ secret: SECRET, headers: {}, body }),
    ]) {
      expect(act).toThrow(TypeError);
      expect(act).toThrow(new RegExp(`^The body must be the raw one.*but is ${what}\\.`));
    }
  });
});

describe('what fetch gives', () => {
  const headers = new Headers(headersOf(VECTOR));
  const request = { secret: SECRET, headers, body: VECTOR.body, nowSeconds: VECTOR.timestamp };

  it('is taken as it is: Headers, and bodies as text or bytes', async () => {
    const bytes = await new Response(VECTOR.body).arrayBuffer();
    for (const body of [VECTOR.body, bytes, new Uint8Array(bytes)]) {
      expect(verifyMessage({ ...request, body })).toBe(true);
      expect(verifyBody(SECRET, body, signBody(SECRET, VECTOR.body))).toBe(true);
    }
    expect(verifyMessage({ ...request, body: `${VECTOR.body} ` })).toBe(false);
  });

  it('is refused without a header', () => {
    expect(verifyMessage({ ...request, headers: new Headers() })).toBe(false);
    expect(verifyBody(SECRET, VECTOR.body, new Headers().get('x-service-signature'))).toBe(false);
    expect(verifyBody(SECRET, VECTOR.body, undefined)).toBe(false);
  });
});
