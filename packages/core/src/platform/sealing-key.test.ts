import { inspect } from 'node:util';
import { sealingKeysSchema } from './sealing-key';

const [ONE, OTHER] = [Buffer.alloc(32, 1).toString('base64'), Buffer.alloc(32, 2).toString('base64')];

describe('sealingKeysSchema', () => {
  it('reads keys in their order, each with an id that follows from it', () => {
    const [one, other] = sealingKeysSchema.parse(`${ONE}, ${OTHER}`);
    expect(one?.id).toMatch(/^[0-9a-f]{8}$/);
    expect(other?.id).not.toBe(one?.id);
    expect(sealingKeysSchema.parse(OTHER)).toMatchObject([{ id: other?.id }]);
  });

  it.each([
    ['31 bytes', Buffer.alloc(31).toString('base64'), [[0]]],
    ['33 bytes', Buffer.alloc(33).toString('base64'), [[0]]],
    ['hex', Buffer.alloc(32).toString('hex'), [[0]]],
    ['no padding', ONE.replace('=', ''), [[0]]],
    ['nothing', '', [[0]]],
    ['nothing after a comma', `${ONE},`, [[1]]],
    ['the second of them in another form', `${ONE},whsec_${OTHER}`, [[1]]],
  ])('refuses %s, and repeats nothing of it', (_what, text, paths) => {
    const { error } = sealingKeysSchema.safeParse(text);
    expect(error?.issues.map(({ path }) => path)).toEqual(paths);
    expect(error?.issues[0]?.message).toBe(
      'must be the base64 of 32 random bytes, as "openssl rand -base64 32" makes it',
    );
  });

  it('shows no key when it is printed', () => {
    expect(inspect(sealingKeysSchema.parse(ONE), { depth: 9, showHidden: true })).not.toMatch(/AQEB|01 01/);
  });
});
