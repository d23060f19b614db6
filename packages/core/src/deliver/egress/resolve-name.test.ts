import type { LookupOptions } from 'node:dns';
import { buildGuard, type GuardChanges } from '../../testing/build-guard';
import { type DnsAnswer, type DnsServer, type RecordType, startDnsServer } from '../../testing/dns-server';
import { recordSignals } from '../../testing/record-signals';
import {
  lookUpName,
  NameCache,
  type ResolvedAddress,
  type ResolveName,
  type ResolveNameOptions,
  UnresolvedNameError,
} from './resolve-name';
import { DirectRoute } from './routes';

/** Asks the name servers of a test. */
const resolverBy =
  (options: ResolveNameOptions): ResolveName =>
  (name) =>
    lookUpName(name, options);

describe('resolve name', () => {
  const opened: DnsServer[] = [];
  afterEach(async () => {
    for (const server of opened.splice(0)) await server.close();
  });

  /** A resolver that asks a name server of this test, which answers the same to every name. */
  async function arrange(answers: Readonly<Record<RecordType, DnsAnswer>>, { queryTimeoutMs = 50 } = {}) {
    const server = await startDnsServer((_name, type) => answers[type]);
    opened.push(server);
    return { server, resolveName: resolverBy({ servers: [server.address], queryTimeoutMs }) };
  }

  const none: DnsAnswer = { addresses: [], ttlSeconds: 0 };
  const at = (address: string) => ({ addresses: [address], ttlSeconds: 60 });

  describe('a public name', () => {
    it('is asked for at the name servers, in both families, with its time to live', async () => {
      const { server, resolveName } = await arrange({
        A: { addresses: ['192.0.2.1', '192.0.2.2'], ttlSeconds: 60 },
        AAAA: { addresses: ['2001:db8::1'], ttlSeconds: 0 },
      });
      expect(await resolveName('hooks.example.com')).toEqual([
        { address: '2001:db8::1', family: 6, ttlSeconds: 0 },
        { address: '192.0.2.1', family: 4, ttlSeconds: 60 },
        { address: '192.0.2.2', family: 4, ttlSeconds: 60 },
      ]);
      expect(server.questions.toSorted()).toEqual(['A hooks.example.com', 'AAAA hooks.example.com']);
    });

    it('has no more than 16 addresses of each family, however many its server gives', async () => {
      const addresses = Array.from({ length: 28 }, (_, i) => `192.0.2.${i}`);
      const { resolveName } = await arrange({ A: { addresses, ttlSeconds: 60 }, AAAA: at('2001:db8::1') });
      const found = await resolveName('hooks.example.com');
      expect(found.map(({ address }) => address)).toEqual(['2001:db8::1', ...addresses.slice(0, 16)]);
    });

    it('is asked for again each time: caching is decided elsewhere', async () => {
      const { server, resolveName } = await arrange({
        A: { addresses: ['192.0.2.1'], ttlSeconds: 3_600 },
        AAAA: 'no such name',
      });
      await resolveName('hooks.example.com');
      await resolveName('hooks.example.com');
      expect(server.questions.filter((question) => question.startsWith('A '))).toHaveLength(2);
    });

    it.each<[string, DnsAnswer]>([
      ['has no', none],
      ['can not tell the', 'failure'],
      ['does not answer for the', 'silence'],
    ])('is found in one family when its server %s other one', async (_what, other) => {
      const { resolveName } = await arrange({ A: { addresses: ['192.0.2.1'], ttlSeconds: 5 }, AAAA: other });
      expect(await resolveName('hooks.example.com')).toMatchObject([{ address: '192.0.2.1' }]);
    });

    // Some name servers drop queries for AAAA: the first delivery to a name would wait for seconds.
    it.each<[string, DnsAnswer, DnsAnswer, string]>([
      ['AAAA', at('192.0.2.1'), 'silence', '192.0.2.1'],
      ['A', 'silence', at('2001:db8::1'), '2001:db8::1'],
    ])('is not waited for where its server drops queries for %s', async (_what, A, AAAA, address) => {
      const { server } = await arrange({ A, AAAA });
      // Longer than a test may take.
      const resolveName = resolverBy({ servers: [server.address], queryTimeoutMs: 120_000 });
      expect(await resolveName('hooks.example.com')).toMatchObject([{ address }]);
    });

    it('is found in both families when the second answer comes a little later', async () => {
      const { resolveName } = await arrange({
        A: at('192.0.2.1'),
        AAAA: { ...at('2001:db8::1'), delayMs: 5 },
      });
      expect(await resolveName('hooks.example.com')).toMatchObject([
        { address: '2001:db8::1' },
        { address: '192.0.2.1' },
      ]);
    });

    it('is waited for as long as all that came is that there is nothing', async () => {
      const { resolveName } = await arrange(
        { A: { ...at('192.0.2.1'), delayMs: 150 }, AAAA: none },
        { queryTimeoutMs: 60_000 },
      );
      expect(await resolveName('hooks.example.com')).toMatchObject([{ address: '192.0.2.1' }]);
    });

    it.each<[string, DnsAnswer, DnsAnswer, string]>([
      ['does not exist', 'no such name', 'no such name', 'ENOTFOUND'],
      ['has no address', none, none, 'ENODATA'],
      ['can not be told by its server', 'failure', 'failure', 'ESERVFAIL'],
      ['can not be told in one family and has no address in the other', none, 'failure', 'ESERVFAIL'],
      ['gets no answer', 'silence', 'silence', 'ETIMEOUT'],
    ])('fails when it %s, with the reason', async (_what, ipv4, ipv6, why) => {
      const { resolveName } = await arrange({ A: ipv4, AAAA: ipv6 });
      await expect(resolveName('hooks.example.com')).rejects.toMatchObject({
        code: 'ERR_UNRESOLVED_NAME',
        message: `hooks.example.com could not be resolved (${why}).`,
      });
    });

    // The resolver says ECONNREFUSED then, which would pass for a receiver's refusal.
    it('fails as a name when there is no name server', async () => {
      const { server, resolveName } = await arrange({ A: none, AAAA: none });
      await server.close();
      opened.length = 0;
      await expect(resolveName('hooks.example.com')).rejects.toMatchObject({ code: 'ERR_UNRESOLVED_NAME' });
    });
  });

  describe('an internal name', () => {
    it('is asked for at the system, which knows its hosts file', async () => {
      const { server, resolveName } = await arrange({ A: none, AAAA: none });
      const addresses = await resolveName('localhost');
      expect(addresses.map(({ address }) => address)).toContain('127.0.0.1');
      expect(addresses.map(({ ttlSeconds }) => ttlSeconds)).toEqual(addresses.map(() => 5));
      expect(server.questions).toEqual([]);
    });
  });
});

describe('cache names', () => {
  function lasting(...ttls: number[]): readonly ResolvedAddress[] {
    return ttls.map((ttlSeconds, i) => ({ address: `192.0.2.${i + 1}`, family: 4, ttlSeconds }));
  }

  /** A cache over a resolver that counts what it is asked, on a clock of its own. */
  function arrange(resolve: ResolveName) {
    let now = 0;
    const asked: string[] = [];
    const { resolveName } = new NameCache(
      async (name) => {
        asked.push(name);
        return await resolve(name);
      },
      () => now,
    );
    return {
      asked,
      resolveName,
      wait(ms: number) {
        now += ms;
      },
    };
  }

  describe('NameCache', () => {
    it.each([
      ['as long as its record says', [60], 60_000],
      ['as long as the shortest of its records says', [60, 20, 40], 20_000],
      ['five minutes at most', [86_400], 300_000],
    ])('keeps an answer %s', async (_how, ttls, keptMs) => {
      const { resolveName, asked, wait } = arrange(async () => lasting(...ttls));
      const first = await resolveName('a.example');
      wait(keptMs - 1);
      expect(await resolveName('a.example')).toEqual(first);
      expect(asked).toHaveLength(1);
      wait(1);
      await resolveName('a.example');
      expect(asked).toHaveLength(2);
    });

    it('keeps no answer whose record is to be used once', async () => {
      const { resolveName, asked } = arrange(async () => lasting(0));
      await resolveName('a.example');
      await resolveName('a.example');
      expect(asked).toHaveLength(2);
    });

    it('keeps a failure for half a minute, then asks again', async () => {
      let isUp = false;
      const { resolveName, asked, wait } = arrange(async (name) => {
        if (!isUp) throw new UnresolvedNameError(name, 'ESERVFAIL');
        return lasting(60);
      });
      const failure = {
        code: 'ERR_UNRESOLVED_NAME',
        message: 'a.example could not be resolved (ESERVFAIL).',
      };
      await expect(resolveName('a.example')).rejects.toMatchObject(failure);
      isUp = true;
      wait(29_999);
      await expect(resolveName('a.example')).rejects.toMatchObject(failure);
      expect(asked).toHaveLength(1);
      wait(1);
      expect(await resolveName('a.example')).toEqual(lasting(60));
    });

    it('asks once for all who wait for the same answer', async () => {
      const { resolveName, asked } = arrange(async () => lasting(0));
      await Promise.all([resolveName('a.example'), resolveName('a.example'), resolveName('b.example')]);
      expect(asked).toEqual(['a.example', 'b.example']);
    });

    it('lets all who wait for the same answer fail together', async () => {
      const { resolveName, asked } = arrange((name) =>
        Promise.reject(new UnresolvedNameError(name, 'ENOTFOUND')),
      );
      const results = await Promise.allSettled([resolveName('a.example'), resolveName('a.example')]);
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      expect(asked).toHaveLength(1);
    });
  });
});

describe('guarded lookup', () => {
  const PUBLIC = '93.184.216.34';
  const PUBLIC_IPV6 = '2606:2800:220::1';

  function resolved(...addresses: string[]): readonly ResolvedAddress[] {
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4, ttlSeconds: 60 }));
  }

  /** What a socket that looks up `hooks.example.com` is told. */
  function lookUp(changes: GuardChanges, options: LookupOptions = { all: true }) {
    const { lookup } = new DirectRoute(buildGuard({ allowedCidrs: [], ...changes }));
    return new Promise((resolve) => {
      lookup('hooks.example.com', options, (error, address, family) => resolve(error ?? { address, family }));
    });
  }

  describe('a guarded look-up', () => {
    it('gives all addresses of a name, for happy eyeballs', async () => {
      expect(await lookUp({ resolveName: async () => resolved(PUBLIC_IPV6, PUBLIC) })).toMatchObject({
        address: [
          { address: PUBLIC_IPV6, family: 6 },
          { address: PUBLIC, family: 4 },
        ],
      });
    });

    it.each<[string, LookupOptions, object]>([
      ['the first', {}, { address: PUBLIC_IPV6, family: 6 }],
      ['the first of a family', { family: 4 }, { address: PUBLIC, family: 4 }],
      ['all of a family', { family: 4, all: true }, { address: [{ address: PUBLIC, family: 4 }] }],
    ])('gives %s to who asks for that', async (_what, options, expected) => {
      const resolveName = async () => resolved(PUBLIC_IPV6, PUBLIC);
      expect(await lookUp({ resolveName }, options)).toMatchObject(expected);
    });

    it.each([
      ['one that may not be reached', ['10.0.0.1']],
      ['a good one and a bad one', [PUBLIC, '127.0.0.1']],
      ['a bad one and a good one', ['169.254.169.254', PUBLIC]],
      ['a good one, and a bad one of IPv6', [PUBLIC, '::1']],
      ['a good one, and a mapped one', [PUBLIC_IPV6, '::ffff:10.0.0.1']],
      ['something that is no address', [PUBLIC, 'localhost']],
    ])('refuses a name whose addresses are %s', async (_what, addresses) => {
      const resolveName = async () => resolved(...addresses);
      for (const options of [{ all: true }, {}, { family: 4 }]) {
        expect(await lookUp({ resolveName }, options)).toMatchObject({ code: 'ERR_BLOCKED_ADDRESS' });
      }
    });

    it('tells the log which address it was, and the client no more than the name', async () => {
      const signals = recordSignals();
      const error = await lookUp({
        resolveName: async () => resolved(PUBLIC, '10.1.2.3'),
        emit: signals.listen,
      });
      expect(signals.named('delivery.blocked')).toEqual([
        { name: 'delivery.blocked', host: 'hooks.example.com', address: '10.1.2.3', reason: 'private' },
      ]);
      expect(error).toMatchObject({ message: expect.stringMatching(/^hooks\.example\.com leads to/) });
      expect(String(error)).not.toMatch(/10\.1\.2\.3|private/);
    });

    it('checks each time, also an answer that was kept', async () => {
      const signals = recordSignals();
      const kept = resolved('10.1.2.3');
      const { lookup } = new DirectRoute(
        buildGuard({ allowedCidrs: [], resolveName: async () => kept, emit: signals.listen }),
      );
      for (let i = 0; i < 2; i += 1) {
        await new Promise((resolve) => lookup('hooks.example.com', { all: true }, resolve));
      }
      expect(signals.named('delivery.blocked')).toHaveLength(2);
    });

    it.each<[string, GuardChanges['resolveName']]>([
      ['fails', (name) => Promise.reject(new UnresolvedNameError(name, 'ETIMEOUT'))],
      ['finds nothing', async () => []],
    ])('gives no address when the resolver %s', async (_what, resolveName) => {
      expect(await lookUp(resolveName ? { resolveName } : {})).toMatchObject({ code: 'ERR_UNRESOLVED_NAME' });
    });

    it('gives no address when the family has none', async () => {
      const resolveName = async () => resolved(PUBLIC);
      expect(await lookUp({ resolveName }, { family: 6 })).toMatchObject({ code: 'ERR_UNRESOLVED_NAME' });
    });
  });
});
