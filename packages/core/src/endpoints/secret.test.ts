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

  it('does not repeat a secret that it refuses', () => {
    expect(JSON.stringify(secretSchema.safeParse('whsec_mine').error)).not.toContain('mine');
  });
});
