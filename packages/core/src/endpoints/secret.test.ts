import { randomBytes } from 'node:crypto';
import { newSecret, secretSchema } from './secret';

function secretOf(bytes: number, encoding: BufferEncoding = 'base64'): string {
  return `whsec_${Buffer.alloc(bytes, 0xfb).toString(encoding)}`;
}

describe('newSecret', () => {
  it('is whsec_ and the base64 of 32 bytes, and another one each time', () => {
    const secret = newSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(newSecret()).not.toBe(secret);
    expect(secretSchema.parse(secret)).toBe(secret);
  });
});

describe('secretSchema', () => {
  it.each([24, 32, 63, 64])('takes %d bytes', (bytes) => {
    expect(secretSchema.parse(secretOf(bytes))).toBe(secretOf(bytes));
  });

  it.each([
    ['23 bytes', secretOf(23)],
    ['65 bytes', secretOf(65)],
    ['no prefix', secretOf(32).slice(6)],
    ['another prefix', secretOf(32).replace('whsec_', 'whpub_')],
    ['the URL alphabet of base64', secretOf(32, 'base64url')],
    ['no padding', secretOf(32).replace('=', '')],
    ['white space within', secretOf(32).replace('whsec_', 'whsec_ ')],
    ['a line feed at the end', `${secretOf(32)}\n`],
    ['nothing after the prefix', 'whsec_'],
    ['nothing', ''],
    ['a number', 1],
  ])('refuses %s', (_what, secret) => {
    expect(secretSchema.safeParse(secret).success).toBe(false);
  });

  it('takes whatever an encoder makes of 24 to 64 bytes, and of no other number', () => {
    const taken = Array.from({ length: 90 }, (_, bytes) => bytes).filter((bytes) => {
      const secrets = Array.from({ length: 50 }, () => `whsec_${randomBytes(bytes).toString('base64')}`);
      const oks = new Set(secrets.map((secret) => secretSchema.safeParse(secret).success));
      expect(oks.size).toBe(1);
      return oks.has(true);
    });
    expect(taken).toEqual(Array.from({ length: 41 }, (_, i) => 24 + i));
  });

  it('does not repeat a secret that it refuses', () => {
    expect(JSON.stringify(secretSchema.safeParse('whsec_mine').error)).not.toContain('mine');
  });
});
