// Writes conformance/asymmetric.json. Run again only to add cases: what is in it is the contract.
import { createHash, createHmac, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { signService, signStandard } from './sign.mjs';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const now = 1_790_000_000;
const id = 'evt_01m7z10j5c4fq3r52bewgh';
const text = '{"type":"keyword.quick_win","data":{"keyword":"red shoes","position":11,"volume":2400}}';
const odd = Buffer.from([0xff, 0x00, 0xfe, 0x0a, 0x80]);
const base64 = (value) => Buffer.from(value).toString('base64');

// An account's keys and those of another one; signatures by Ed25519 are the same each time.
const ours = keyOf('ours');
const former = keyOf('former');
const other = keyOf('other');

function keyOf(seed) {
  const head = Buffer.from('302e020100300506032b657004220420', 'hex');
  const der = Buffer.concat([head, createHash('sha256').update(seed).digest()]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  const kid = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');
  return { privateKey, x, kid, whpk: `whpk_${base64(Buffer.from(x, 'base64url'))}` };
}

const jwkOf = ({ x, kid }) => ({ kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' });

function v1a({ key = ours, eventId = id, at = now, bytes = text } = {}) {
  const message = Buffer.concat([Buffer.from(`${eventId}.${at}.`), Buffer.from(bytes)]);
  return `v1a,${sign(null, message, key.privateKey).toString('base64')}`;
}

const v1 = ({ bytes = text, at = now } = {}) => signStandard(secret, id, at, bytes);

const headersOf = (signature, { kid = ours.kid, at = now, eventId = id } = {}) => ({
  'webhook-id': eventId,
  'webhook-timestamp': String(at),
  'webhook-signature': signature,
  ...(kid === undefined || kid === null ? {} : { 'webhook-key-id': kid }),
});

const cases = [];

/** @param given `public_keys` or `jwks`, and `secrets` where both kinds are asked for. */
function add(name, expect, given = {}) {
  const asked =
    given.jwks === undefined && given.secrets_only === undefined ? { public_keys: [ours.whpk] } : {};
  const { secrets_only: _only, ...rest } = given;
  cases.push({ name, expect, ...asked, headers: headersOf(v1a()), body_base64: base64(text), now, ...rest });
}

const set = { keys: [jwkOf(ours), jwkOf(former)] };
const ok = 'ok';
const no = 'no_match';

add('a signature by the key', ok);
add('beside one by the secret', ok, { headers: headersOf(`${v1()} ${v1a()}`) });
add('bytes that are no UTF-8', ok, { headers: headersOf(v1a({ bytes: odd })), body_base64: base64(odd) });
add('an empty body', ok, { headers: headersOf(v1a({ bytes: '' })), body_base64: '' });
add('without the name of the key', ok, { headers: headersOf(v1a(), { kid: null }) });
add('two keys, signed by the second', ok, { public_keys: [former.whpk, ours.whpk] });
add('after a signature by another key', ok, { headers: headersOf(`${v1a({ key: other })} ${v1a()}`) });
add('white space around the key', ok, { public_keys: [` ${ours.whpk}\r\n`] });
add('by the set', ok, { jwks: set });
add('by the set, by the second of it', ok, {
  jwks: set,
  headers: headersOf(v1a({ key: former }), { kid: former.kid }),
});
add('by the set, without the name of the key', ok, { jwks: set, headers: headersOf(v1a(), { kid: null }) });
add('by a set that has other keys as well', ok, {
  jwks: {
    keys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'rsa' }, 'none', null, { kty: 'OKP' }, ...set.keys],
  },
});
add('either kind, and only the secret has signed', ok, { secrets: [secret], headers: headersOf(v1()) });
add('either kind, and only the key has signed', ok, { secrets: [secret] });

// What never satisfies who asked for `v1a`.
add('a good signature by the secret alone', no, { headers: headersOf(v1()) });
add('a good service signature alone', 'missing_header', {
  headers: { 'x-service-signature': signService(secret, text) },
  header: 'webhook-signature',
});
add('no signature', 'missing_header', { headers: {}, header: 'webhook-signature' });
add('a good service signature beside a bad one by a key', no, {
  headers: { ...headersOf(v1a({ key: other })), 'x-service-signature': signService(secret, text) },
});
const publicBytes = Buffer.from(ours.x, 'base64url');
const hmacBy = (key) => createHmac('sha256', key).update(`${id}.${now}.`).update(text).digest('base64');
add('an HMAC whose key is the public key, as v1', no, { headers: headersOf(`v1,${hmacBy(publicBytes)}`) });
add('an HMAC whose key is the public key, as v1a', no, { headers: headersOf(`v1a,${hmacBy(publicBytes)}`) });
add('an HMAC whose key is the public key as it is written, as v1', no, {
  headers: headersOf(`v1,${hmacBy(ours.whpk)}`),
});
add('the signature under the name of the other scheme', no, {
  headers: headersOf(v1a().replace('v1a,', 'v1,')),
});
add('the signature under the name of a scheme that is not known', no, {
  headers: headersOf(v1a().replace('v1a,', 'v1b,')),
});
// And the other way round: who asked for `v1` alone.
add('a good signature by the key where the secret was asked for', no, {
  secrets_only: true,
  secrets: [secret],
});

add('by the key of another account', no, { headers: headersOf(v1a({ key: other }), { kid: other.kid }) });
add('by the key of another account, under the name of ours', no, { headers: headersOf(v1a({ key: other })) });
add('by the key of another account, which is not in the set', no, {
  jwks: set,
  headers: headersOf(v1a({ key: other }), { kid: other.kid }),
});
add('by the key of another account, under the name of one in the set', no, {
  jwks: set,
  headers: headersOf(v1a({ key: other })),
});
add('under the name of another key of the set', no, {
  jwks: set,
  headers: headersOf(v1a(), { kid: former.kid }),
});
add('by a former key, which is not in the set any more', no, {
  jwks: { keys: [jwkOf(ours)] },
  headers: headersOf(v1a({ key: former }), { kid: former.kid }),
});
add('an empty set', no, { jwks: { keys: [] } });
add('a set with the public key as a key for an HMAC', no, {
  jwks: { keys: [{ kty: 'oct', k: ours.x, kid: ours.kid, alg: 'HS256', use: 'sig' }] },
  headers: headersOf(`v1,${hmacBy(publicBytes)} v1a,${hmacBy(publicBytes)}`),
});
add('a set with the key under another algorithm', no, { jwks: { keys: [{ ...jwkOf(ours), alg: 'ES256' }] } });
add('a set with the key for another use', no, { jwks: { keys: [{ ...jwkOf(ours), use: 'enc' }] } });
add('a set with the key on another curve', no, { jwks: { keys: [{ ...jwkOf(ours), crv: 'X25519' }] } });
add('a key in the request', no, {
  jwks: set,
  headers: {
    ...headersOf(v1a({ key: other }), { kid: other.kid }),
    jwk: JSON.stringify(jwkOf(other)),
    jku: 'https://attacker.example.com/jwks.json',
    'webhook-key': other.whpk,
    'webhook-jwks-url': 'https://attacker.example.com/jwks.json',
  },
});
add('a key in the place of its name', no, {
  jwks: set,
  headers: headersOf(v1a({ key: other }), { kid: other.whpk }),
});

add('too old', 'timestamp_skew', {
  headers: headersOf(v1a({ at: now - 301 }), { at: now - 301 }),
  skew: -301,
});
add('an old one under a new time', no, { headers: headersOf(v1a({ at: now - 301 })) });
add('too far ahead', 'timestamp_skew', {
  headers: headersOf(v1a({ at: now + 301 }), { at: now + 301 }),
  skew: 301,
});
add('another id', no, { headers: headersOf(v1a({ eventId: 'evt_other' })) });
add('one byte of the body changed', no, { body_base64: base64(text.replace('11', '12')) });
add('half of a signature', no, { headers: headersOf(v1a().slice(0, 48)) });
add('an empty signature', no, { headers: headersOf('v1a,') });
add('a signature that is no base64', no, { headers: headersOf('v1a,***') });
add('a signature of nothing but zeros', no, { headers: headersOf(`v1a,${base64(Buffer.alloc(64))}`) });
add('the same signature with another number in it, which stands for it modulo the order', no, {
  headers: headersOf(`v1a,${malleated(v1a().slice(4))}`),
});
add('the name of the key twice', 'missing_header', {
  jwks: set,
  headers: headersOf(v1a(), { kid: `${ours.kid}, ${ours.kid}` }),
  header: 'webhook-key-id',
});

add('no key', 'not_a_key', { public_keys: [''] });
add('a key of a prefix only', 'not_a_key', { public_keys: ['whpk_'] });
add('the secret in the place of the key', 'not_a_key', { public_keys: [secret] });
add('half of a key', 'not_a_key', { public_keys: [ours.whpk.slice(0, 28)] });
add('a key that is no base64', 'not_a_key', { public_keys: ['whpk_***'] });
add('an empty key beside a good one', 'not_a_key', { public_keys: [ours.whpk, ''] });

/** S + L in the place of S (RFC 8032, 5.1.7): a verifier has to refuse it. */
function malleated(signature) {
  const bytes = Buffer.from(signature, 'base64');
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  let s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + order;
  for (let i = 32; i < 64; i += 1) {
    bytes[i] = Number(s & 255n);
    s >>= 8n;
  }
  return bytes.toString('base64');
}

writeFileSync(new URL('asymmetric.json', import.meta.url), `${JSON.stringify({ cases }, null, 2)}\n`);
