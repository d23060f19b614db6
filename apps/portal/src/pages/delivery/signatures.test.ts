import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { checkSignature } from './signatures';

// https://github.com/standard-webhooks/standard-webhooks: its own test vector.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const REQUEST = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: '1614265330', body: '{"test": 2432232314}' };
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const OF_THE_BODY = createHmac('sha256', SECRET).update(REQUEST.body).digest('hex');

it.each([
  [SIGNATURE, 'good'],
  [`v1,AAAA ${SIGNATURE} v1a,BBBB`, 'good'],
  [`sha256=${OF_THE_BODY}`, 'good_for_the_body'],
  [OF_THE_BODY.toUpperCase(), 'good_for_the_body'],
  ['v1,AAAA', 'bad'],
  ['v1a,BBBB', 'by_key'],
] as const)('finds %s to be %s', async (received, verdict) => {
  expect(await checkSignature(SECRET, ` ${received}\n`, REQUEST)).toBe(verdict);
});

it.each([
  ['another body', { body: '{"test": 2432232315}' }],
  ['another time', { timestamp: '1614265331' }],
  ['another event', { id: 'msg_other' }],
])('takes no signature of %s', async (_what, change) => {
  expect(await checkSignature(SECRET, SIGNATURE, { ...REQUEST, ...change })).toBe('bad');
});

it('says that a secret is none', async () => {
  expect(await checkSignature('whsec_%%%', SIGNATURE, REQUEST)).toBe('no_secret');
});

describe('by a key pair', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const x = publicKey.export({ format: 'jwk' }).x ?? '';
  const key = `whpk_${Buffer.from(x, 'base64url').toString('base64')}`;
  const message = `${REQUEST.id}.${REQUEST.timestamp}.${REQUEST.body}`;
  const signature = `v1a,${sign(null, Buffer.from(message), privateKey).toString('base64')}`;

  it.each([
    [key, signature, 'good_by_key'],
    [key, `${SIGNATURE} v1a,AAAA ${signature}`, 'good_by_key'],
    [key, 'v1a,AAAA', 'bad'],
    [key, 'v1a,%%%', 'bad'],
    [key, SIGNATURE, 'not_by_key'],
    ['whpk_AAAA', signature, 'no_key'],
    ['whpk_%%%', signature, 'no_key'],
  ] as const)('finds, by %s, %s to be %s', async (given, received, verdict) => {
    expect(await checkSignature(given, received, REQUEST)).toBe(verdict);
  });

  it('takes no signature of another body', async () => {
    expect(await checkSignature(key, signature, { ...REQUEST, body: '{}' })).toBe('bad');
  });

  it('says so where there is no Ed25519', async () => {
    const none = jest.spyOn(crypto.subtle, 'importKey').mockRejectedValue(new Error('NotSupportedError'));
    expect(await checkSignature(key, signature, REQUEST)).toBe('no_ed25519');
    none.mockRestore();
  });
});
