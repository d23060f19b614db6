import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import {
  costlyDsaKey,
  costlyRsaKey,
  DER_CONTEXT_0,
  DER_OBJECT_ID,
  DER_OCTET_STRING,
  DER_SEQUENCE,
  integer,
  rsaKeyWith,
  tlv,
  toPem,
} from '../../testing/costly-keys';
import { readClientKey } from './client-key';

const P256 = Buffer.from('2a8648ce3d030107', 'hex');

function newKey(kind: string): KeyObject {
  if (kind === 'ed25519') return generateKeyPairSync('ed25519').privateKey;
  if (kind.startsWith('RSA')) {
    return generateKeyPairSync('rsa', { modulusLength: Number(kind.slice(4)) }).privateKey;
  }
  return generateKeyPairSync('ec', { namedCurve: kind }).privateKey;
}

const pkcs8Of = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();

function faultOf(pem: string): string | undefined {
  const read = readClientKey(pem);
  return read.kind === 'bad' ? read.fault : undefined;
}

describe('readClientKey', () => {
  it.each(['RSA 2048', 'RSA 3072', 'RSA 4096', 'P-256', 'P-384', 'P-521', 'ed25519'])(
    'takes %s, and gives the same key',
    (kind) => {
      const key = newKey(kind);
      const read = readClientKey(`# Ours\n${pkcs8Of(key)}\n# and that was it`);
      expect(read).toEqual({ kind: 'good', pem: pkcs8Of(key) });
      const message = Buffer.from('a handshake');
      const algorithm = kind === 'ed25519' ? null : 'sha256';
      const signature = sign(algorithm, message, createPrivateKey(read.kind === 'good' ? read.pem : ''));
      expect(verify(algorithm, message, createPublicKey(key), signature)).toBe(true);
    },
  );

  it.each<[string, 'RSA 2048' | 'P-256', 'pkcs1' | 'sec1']>([
    ['PKCS #1', 'RSA 2048', 'pkcs1'],
    ['SEC 1', 'P-256', 'sec1'],
  ])('takes them in the form of %s too', (_what, kind, type) => {
    const key = newKey(kind);
    const pem = key.export({ type, format: 'pem' }).toString();
    expect(readClientKey(pem)).toEqual({ kind: 'good', pem: pkcs8Of(key) });
  });

  it('takes one that its parameters stand before, as openssl writes it', () => {
    const key = newKey('P-256');
    const parameters = toPem('EC PARAMETERS', tlv(DER_OBJECT_ID, P256));
    const pem = key.export({ type: 'sec1', format: 'pem' }).toString();
    expect(readClientKey(parameters + pem)).toEqual({ kind: 'good', pem: pkcs8Of(key) });
  });

  it.each(['RSA 1024', 'RSA 2040'])('refuses %s', (kind) => {
    expect(faultOf(pkcs8Of(newKey(kind)))).toBe('must have at least 2048 bits');
  });

  it.each(['secp256k1', 'brainpoolP256r1', 'sect571r1'])('refuses a key on %s', (curve) => {
    expect(faultOf(pkcs8Of(newKey(curve)))).toMatch(/must be a private key .*P-256/);
  });

  it('refuses the other kinds that OpenSSL knows', () => {
    const keys = [
      generateKeyPairSync('ed448').privateKey,
      generateKeyPairSync('x25519').privateKey,
      generateKeyPairSync('rsa-pss', { modulusLength: 2_048 }).privateKey,
    ];
    for (const key of keys) expect(faultOf(pkcs8Of(key))).toMatch(/must be a private key/);
  });

  // The time limit of a test is a fifth of what OpenSSL would take.
  it('refuses what would keep OpenSSL busy for half a minute, at once', () => {
    expect(faultOf(costlyRsaKey())).toBe('must be a key whose numbers fit together');
    expect(faultOf(costlyDsaKey())).toMatch(/must be a private key/);
  });

  const large = Buffer.alloc(256, 0xff).toString('base64url');
  const small = Buffer.of(15).toString('base64url');
  it.each<[string, JsonWebKey, string]>([
    ['p that is no factor', { p: small }, 'fit together'],
    ['q that is no factor', { q: small }, 'fit together'],
    ['dp of the size of n', { dp: large }, 'fit together'],
    ['dq of the size of n', { dq: large }, 'fit together'],
    ['qi of the size of n', { qi: large }, 'fit together'],
    ['an invalid dp', { dp: small }, 'fit together'],
    ['an invalid d', { d: small }, 'fit together'],
    ['d that is not below n', { d: Buffer.alloc(257, 0xff).toString('base64url') }, 'fit together'],
    ['an exponent of 33 bits', { e: Buffer.alloc(5, 1).toString('base64url') }, 'at most 32 bits'],
    ['n with more than 4096 bits', { n: Buffer.alloc(513, 0xff).toString('base64url') }, 'at most 4096 bits'],
  ])('refuses RSA with %s', (_what, numbers, fault) => {
    expect(faultOf(rsaKeyWith(numbers))).toContain(fault);
  });

  it('refuses RSA with factors that fit together and differ much in size', () => {
    const p = 2n ** 1_900n - 1n;
    const q = 2n ** 200n - 1n;
    const text = (number: bigint) =>
      Buffer.from(number.toString(16).padStart(600, '0'), 'hex').toString('base64url');
    expect(faultOf(rsaKeyWith({ n: text(p * q), p: text(p), q: text(q) }))).toContain('fit together');
  });

  // Node itself comes to an abrupt end when it is to export a key of which `scalar` is too long.
  const scalarOf = (bytes: number) => tlv(DER_OCTET_STRING, Buffer.alloc(bytes, 1));
  const namedCurve = tlv(DER_CONTEXT_0, tlv(DER_OBJECT_ID, P256));
  const ecPem = (...members: readonly Buffer[]) => toPem('EC PRIVATE KEY', tlv(DER_SEQUENCE, ...members));
  it.each<[string, string]>([
    ['a scalar that is too long', ecPem(integer(Buffer.of(1)), scalarOf(9_000), namedCurve)],
    ['a scalar of nought', ecPem(integer(Buffer.of(1)), tlv(DER_OCTET_STRING, Buffer.alloc(32)), namedCurve)],
    [
      'a curve that is described',
      ecPem(integer(Buffer.of(1)), scalarOf(32), tlv(DER_CONTEXT_0, tlv(DER_SEQUENCE))),
    ],
    ['no curve', ecPem(integer(Buffer.of(1)), scalarOf(32))],
    ['another version', ecPem(integer(Buffer.of(2)), scalarOf(32), namedCurve)],
    ['nothing', ecPem()],
  ])('refuses EC with %s', (_what, pem) => {
    expect(faultOf(pem)).toMatch(/must be a private key/);
  });

  it('survives every cut of a key, and every byte that is changed', () => {
    for (const kind of ['RSA 2048', 'P-256', 'ed25519']) {
      const der = newKey(kind).export({ type: 'pkcs8', format: 'der' });
      for (let at = 0; at < der.length; at += kind === 'RSA 2048' ? 7 : 1) {
        const changed = Buffer.from(der);
        changed[at] = (changed[at] ?? 0) ^ 0xff;
        for (const bytes of [der.subarray(0, at), changed]) {
          expect(['good', 'bad']).toContain(readClientKey(toPem('PRIVATE KEY', bytes)).kind);
        }
      }
    }
  });
});
