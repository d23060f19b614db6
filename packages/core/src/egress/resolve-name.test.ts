import { type DnsAnswer, type DnsServer, type RecordType, startDnsServer } from '../testing/dns-server';
import { createResolveName } from './resolve-name';

const opened: DnsServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

/** A resolver that asks a name server of this test, which answers the same to every name. */
async function arrange(answers: Readonly<Record<RecordType, DnsAnswer>>, { queryTimeoutMs = 50 } = {}) {
  const server = await startDnsServer((_name, type) => answers[type]);
  opened.push(server);
  return { server, resolveName: createResolveName({ servers: [server.address], queryTimeoutMs }) };
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

  it('is asked for anew each time: what may be kept is decided elsewhere', async () => {
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
    const resolveName = createResolveName({ servers: [server.address], queryTimeoutMs: 120_000 });
    expect(await resolveName('hooks.example.com')).toMatchObject([{ address }]);
  });

  it('is found in both families when the second answer comes a little later', async () => {
    const { resolveName } = await arrange({ A: at('192.0.2.1'), AAAA: { ...at('2001:db8::1'), delayMs: 5 } });
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
