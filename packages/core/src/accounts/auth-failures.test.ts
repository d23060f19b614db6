import { AppError } from '../platform/app-error';
import { buildApiKey } from '../testing/build-api-key';
import { noSessions } from '../testing/no-sessions';
import { AuthFailures, authenticateClient, clientNetworksOf } from './auth-failures';

describe('limit auth failures', () => {
  const WINDOW_MS = 60_000;

  /** An authentication that knows one key, and counts how often it is asked. */
  function buildLimited(count: number) {
    let now = 0;
    let lookUps = 0;
    let isRevoked = false;
    let isAway = false;
    const { key, record } = buildApiKey();
    const wrong = buildApiKey().key;
    const context = {
      ...noSessions,
      apiKeyStore: {
        async find(id: string) {
          lookUps += 1;
          if (isAway) throw new AppError('storage_unavailable', 'no luck');
          return isRevoked || id !== record.id ? undefined : record;
        },
      },
      authFailures: new AuthFailures({ allowance: { count, windowMs: WINDOW_MS }, clock: () => now }),
      clock: () => now,
    };
    const ask = (authorization: string | undefined, address: string) =>
      authenticateClient(context, authorization, address).then(
        () => 'passed',
        ({ code, retryAfterMs }: AppError) => (retryAfterMs === undefined ? code : `${code} ${retryAfterMs}`),
      );
    return {
      good: (address: string) => ask(`Bearer ${key}`, address),
      bad: (address: string) => ask(`Bearer ${wrong}`, address),
      ask,
      key,
      revoke: () => void (isRevoked = true),
      goAway: () => void (isAway = true),
      comeBack: () => void (isAway = false),
      lookUps: () => lookUps,
      move: (ms: number) => void (now += ms),
    };
  }

  describe('limitAuthFailures', () => {
    it('refuses an address that failed too often before anything is looked up, and says for how long', async () => {
      const { bad, lookUps, move } = buildLimited(2);
      await bad('192.0.2.1');
      move(20_000);
      expect(await bad('192.0.2.1')).toBe('unauthenticated');
      expect(await bad('192.0.2.1')).toBe('rate_limited 40000');
      expect(lookUps()).toBe(2);
    });

    it('refuses a key from there that it does not know to be good, and lets those pass that it does', async () => {
      const known = buildLimited(1);
      await known.good('192.0.2.9');
      const unknown = buildLimited(1);
      for (const { bad } of [known, unknown]) await bad('192.0.2.1');
      expect(await known.good('192.0.2.1')).toBe('passed');
      expect(await unknown.good('192.0.2.1')).toMatch(/^rate_limited/);
    });

    it('looks again when the time is over', async () => {
      const { bad, good, move } = buildLimited(1);
      await bad('192.0.2.1');
      move(WINDOW_MS - 1);
      expect(await good('192.0.2.1')).toBe('rate_limited 1');
      move(1);
      expect(await good('192.0.2.1')).toBe('passed');
    });

    it('counts each IPv4 address apart, and all of an IPv6 network together', async () => {
      const { bad } = buildLimited(1);
      await bad('192.0.2.1');
      expect(await bad('192.0.2.2')).toBe('unauthenticated');
      await bad('2001:db8::1');
      expect(await bad('2001:db8::ffff:2')).toMatch(/^rate_limited/);
    });

    it.each([
      ['IPv4 /24', (i: number) => `192.0.2.${i}`, '192.0.3.1'],
      ['IPv6 /48', (i: number) => `2001:db8:1:${i}::1`, '2001:db8:2::1'],
    ])('gives all of one %s as much as sixteen addresses', async (_what, addressOf, neighbour) => {
      const { bad } = buildLimited(2);
      for (let i = 0; i < 32; i += 1) expect(await bad(addressOf(i))).toBe('unauthenticated');
      expect(await bad(addressOf(200))).toMatch(/^rate_limited/);
      expect(await bad(neighbour)).toBe('unauthenticated');
    });

    // The id is no secret: it stands in lists, logs and answers.
    it('keeps a blocked address blocked whatever key it names, also by the id of a good one', async () => {
      const { ask, good, bad, key, lookUps } = buildLimited(1);
      await good('192.0.2.9');
      await bad('192.0.2.1');
      const before = lookUps();
      const guesses = [`${key.slice(0, -1)}!`, `${key.slice(0, 21)}${'0'.repeat(52)}`, buildApiKey().key];
      for (const guess of guesses) expect(await ask(`Bearer ${guess}`, '192.0.2.1')).toMatch(/^rate_limited/);
      expect(lookUps()).toBe(before);
    });

    it('no longer lets a key pass that was good, once it is not', async () => {
      const { good, bad, revoke } = buildLimited(2);
      await good('192.0.2.9');
      await bad('192.0.2.1');
      revoke();
      expect(await good('192.0.2.1')).toBe('unauthenticated');
      expect(await good('192.0.2.1')).toMatch(/^rate_limited/);
    });

    it('keeps an address blocked that 12,000 others fail after', async () => {
      const { bad } = buildLimited(2);
      await bad('192.0.2.1');
      await bad('192.0.2.1');
      for (let i = 0; i < 12_000; i += 1) await bad(`10.${i >> 8}.${i & 255}.1`);
      expect(await bad('192.0.2.1')).toMatch(/^rate_limited/);
    });

    it('keeps blocked clients when there is no room for more, and has room again when their time is over', async () => {
      const { bad, move } = buildLimited(1);
      const addressOf = (i: number) => `10.${i >> 8}.${i & 255}.1`;
      for (let i = 0; i < 12_000; i += 1) await bad(addressOf(i));
      expect(await bad(addressOf(0))).toMatch(/^rate_limited/);
      expect(await bad(addressOf(9_999))).toMatch(/^rate_limited/);
      expect(await bad(addressOf(11_999))).toBe('unauthenticated');
      move(WINDOW_MS);
      expect(await bad(addressOf(11_999))).toBe('unauthenticated');
      expect(await bad(addressOf(11_999))).toMatch(/^rate_limited/);
    });

    it('counts only what failed for the key, not for want of Redis', async () => {
      const { good, goAway, comeBack } = buildLimited(1);
      goAway();
      expect(await good('192.0.2.1')).toBe('storage_unavailable');
      comeBack();
      expect(await good('192.0.2.1')).toBe('passed');
    });
  });
});

describe('auth failures', () => {
  describe('clientNetworksOf', () => {
    it.each([
      ['192.0.2.7', ['c0000207/32', 'c00002/24']],
      ['::ffff:192.0.2.7', ['c0000207/32', 'c00002/24']],
      ['2001:db8:1:2:3:4:5:6', ['20010db800010002/64', '20010db80001/48']],
      ['2001:db8:1:2::1', ['20010db800010002/64', '20010db80001/48']],
      ['2001:db8:1:3::1', ['20010db800010003/64', '20010db80001/48']],
      ['::1', ['0000000000000000/64', '000000000000/48']],
      ['a text', ['unknown']],
      [undefined, ['unknown']],
    ])('puts %s into its networks', (address, names) => {
      expect(clientNetworksOf(address).map(({ name }) => name)).toEqual(names);
    });
  });
});
