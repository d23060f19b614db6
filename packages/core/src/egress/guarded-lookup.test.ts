import type { LookupOptions } from 'node:dns';
import { buildGuard, type GuardChanges } from '../testing/build-guard';
import { recordSignals } from '../testing/record-signals';
import { UnresolvedNameError } from './egress-errors';
import type { ResolvedAddress } from './resolve-name';

const PUBLIC = '93.184.216.34';
const PUBLIC_IPV6 = '2606:2800:220::1';

function resolved(...addresses: string[]): readonly ResolvedAddress[] {
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4, ttlSeconds: 60 }));
}

/** What a socket that looks up `hooks.example.com` is told. */
function lookUp(changes: GuardChanges, options: LookupOptions = { all: true }) {
  const { lookup } = buildGuard({ allowedCidrs: [], ...changes });
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

  it('judges each time, also an answer that was kept', async () => {
    const signals = recordSignals();
    const kept = resolved('10.1.2.3');
    const { lookup } = buildGuard({ allowedCidrs: [], resolveName: async () => kept, emit: signals.listen });
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

  it('gives no address when there is none of the family', async () => {
    const resolveName = async () => resolved(PUBLIC);
    expect(await lookUp({ resolveName }, { family: 6 })).toMatchObject({ code: 'ERR_UNRESOLVED_NAME' });
  });
});
