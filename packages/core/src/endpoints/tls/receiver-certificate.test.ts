import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { faultOfPublicKey } from './receiver-certificate';

/** Of RSA, with all bits set. */
function rsaKey(bits: number, exponentBits: number): KeyObject {
  const text = (count: number) =>
    Buffer.from((2n ** BigInt(count) - 1n).toString(16), 'hex').toString('base64url');
  return createPublicKey({ format: 'jwk', key: { kty: 'RSA', n: text(bits), e: text(exponentBits) } });
}

const ecKey = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey;

describe('faultOfPublicKey', () => {
  it.each([
    [rsaKey(1_024, 24)],
    [rsaKey(8_192, 32)],
    [ecKey('P-256')],
    [ecKey('P-384')],
    [ecKey('P-521')],
    [generateKeyPairSync('ed25519').publicKey],
  ])('has nothing against %#', (key) => {
    expect(faultOfPublicKey(key)).toBeUndefined();
  });

  it.each<[KeyObject, string]>([
    [rsaKey(8_200, 24), 'RSA keys of at most 8192 bits'],
    [rsaKey(3_072, 40), 'exponents of at most 32 bits'],
    [ecKey('secp256k1'), 'P-256'],
    [generateKeyPairSync('ed448').publicKey, 'RSA, EC or Ed25519'],
    [
      generateKeyPairSync('dsa', { modulusLength: 1_024, divisorLength: 160 }).publicKey,
      'RSA, EC or Ed25519',
    ],
  ])('refuses %#, and says why', (key, fault) => {
    expect(faultOfPublicKey(key)).toContain(fault);
  });
});
