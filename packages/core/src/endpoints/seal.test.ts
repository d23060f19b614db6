import { randomBytes } from 'node:crypto';
import { sealingKeysSchema } from '../platform/sealing-key';
import { Sealer } from './seal';

const KEY = randomBytes(32).toString('base64');
const OTHER_KEY = randomBytes(32).toString('base64');
const UNREADABLE = expect.objectContaining({ name: 'AppError', code: 'secret_unreadable' });
const OWNER = 'account/wh_1/secret';

const sealerWith = (...keys: string[]) => new Sealer(sealingKeysSchema.parse(keys.join(',')));
const idOf = (key: string) => sealingKeysSchema.parse(key)[0]?.id ?? '';

describe('Sealer', () => {
  it.each(['whsec_secret', '', 'Zoë 🚀', 'x'.repeat(20_000)])('gives back what it sealed: %.20s', (text) => {
    const sealer = sealerWith(KEY);
    expect(sealer.open(sealer.seal(text, OWNER), OWNER)).toBe(text);
  });

  it('says which key it sealed with, and seals the same text differently each time', () => {
    const sealer = sealerWith(KEY);
    const sealed = sealer.seal('whsec_secret', OWNER);
    expect(sealed).toMatch(new RegExp(`^sealed\\.v1\\.${idOf(KEY)}\\.[\\w-]+$`));
    expect(sealer.seal('whsec_secret', OWNER)).not.toBe(sealed);
  });

  it('seals with the first key, and opens with any', () => {
    const sealed = sealerWith(OTHER_KEY).seal('whsec_secret', OWNER);
    const both = sealerWith(KEY, OTHER_KEY);
    expect(both.open(sealed, OWNER)).toBe('whsec_secret');
    expect(sealerWith(KEY).open(both.seal('whsec_secret', OWNER), OWNER)).toBe('whsec_secret');
  });

  it('does not open what a key sealed that it does not have', () => {
    const sealed = sealerWith(KEY).seal('whsec_secret', OWNER);
    expect(() => sealerWith(OTHER_KEY).open(sealed, OWNER)).toThrow(UNREADABLE);
    expect(() => new Sealer([]).open(sealed, OWNER)).toThrow(UNREADABLE);
  });

  it('does not open for another owner', () => {
    const sealer = sealerWith(KEY);
    expect(() => sealer.open(sealer.seal('whsec_secret', OWNER), 'account/wh_2/secret')).toThrow(UNREADABLE);
  });

  it('does not open what was changed, wherever', () => {
    const sealer = sealerWith(KEY);
    const sealed = sealer.seal('whsec_secret', OWNER);
    const head = sealed.lastIndexOf('.') + 1;
    for (let at = head; at < sealed.length - 1; at += 1) {
      const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      expect(() => sealer.open(changed, OWNER)).toThrow(UNREADABLE);
    }
  });

  it.each([0, 1, 16, 28, 39])('does not open what was cut down to %i bytes', (bytes) => {
    const sealer = sealerWith(KEY);
    const [head = '', body = ''] = sealer.seal('whsec_secret', OWNER).split(/(?<=\..{8}\.)(?=[^.]+$)/);
    const cut = Buffer.from(body, 'base64url').subarray(0, bytes).toString('base64url');
    expect(() => sealer.open(head + cut, OWNER)).toThrow(UNREADABLE);
  });

  it('leaves texts plain without a key, and gives plain ones back as they are', () => {
    expect(new Sealer([]).seal('whsec_secret', OWNER)).toBe('whsec_secret');
    expect(sealerWith(KEY).open('whsec_secret', OWNER)).toBe('whsec_secret');
  });

  it('says nothing of what it could not open', () => {
    const sealed = sealerWith(KEY).seal('whsec_secret', OWNER);
    expect(() => sealerWith(OTHER_KEY).open(sealed, OWNER)).not.toThrow(sealed);
  });
});
