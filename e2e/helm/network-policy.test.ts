import { AddressPolicy, isIsatap } from '@hookferry/core/deliver/egress/address-policy';
import {
  CLOUD_METADATA,
  GLOBAL_UNICAST_IPV6,
  NAMED_IPV6,
  REFUSED_IPV4,
  REFUSED_IPV6,
} from '@hookferry/core/domain/address-ranges';
import ipaddr from 'ipaddr.js';
import { describeChart } from './chart-tools';
import { findObject, renderChart, type Values, valueAt } from './render-chart';
import { ALL, LEAST } from './sample-values';

interface Peer {
  readonly podSelector?: unknown;
  readonly namespaceSelector?: unknown;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

interface Rule {
  readonly to: readonly Peer[];
  readonly ports: readonly { readonly protocol: string; readonly port?: number }[];
}

const NAMES: Rule = {
  to: [
    { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } },
    { ipBlock: { cidr: '169.254.20.10/32' } },
  ],
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};
const REDIS: Rule = {
  to: [{ podSelector: { matchLabels: { app: 'redis' } } }],
  ports: [{ protocol: 'TCP', port: 6379 }],
};
const PROMETHEUS: readonly Peer[] = [
  { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } },
];
const HISTORY: Rule = {
  to: [{ ipBlock: { cidr: '10.9.0.7/32' } }],
  ports: [{ protocol: 'TCP', port: 5432 }],
};
const COLLECTOR: Rule = {
  to: [{ podSelector: { matchLabels: { app: 'otel-collector' } } }],
  ports: [{ protocol: 'TCP', port: 4318 }],
};

const MAIL: Rule = {
  to: [{ ipBlock: { cidr: '10.9.0.25/32' } }],
  ports: [{ protocol: 'TCP', port: 587 }],
};
const VIA_PROXY: Rule = {
  to: [{ podSelector: { matchLabels: { app: 'squid' } } }],
  ports: [{ protocol: 'TCP', port: 8888 }],
};

const withProxy = ({ keys, ...policies }: { keys: Values; [policy: string]: Values }): Values => ({
  secrets: { existingSecret: 'hookferry-secrets', keys },
  networkPolicy: { redis: { to: REDIS.to }, proxy: { to: VIA_PROXY.to, ports: [8888] }, ...policies },
});

describeChart('the network policies of the Helm chart', ({ helm }) => {
  const egressOf = (name: string, values: Values) =>
    findObject(renderChart(helm, values), 'NetworkPolicy', `hooks-hookferry-${name}`).spec as {
      policyTypes: string[];
      egress: Rule[];
      ingress: unknown[];
    };

  it('let both look up names where and at the port that is said, as OpenShift has it', () => {
    const to = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'openshift-dns' } } }];
    const values = { ...LEAST, networkPolicy: { redis: { to: REDIS.to }, dns: { to, ports: [5353] } } };
    const names = {
      to,
      ports: [
        { protocol: 'UDP', port: 5353 },
        { protocol: 'TCP', port: 5353 },
      ],
    };
    expect([egressOf('api', values).egress[0], egressOf('worker', values).egress[0]]).toEqual([names, names]);
  });

  it('let the API reach names, Redis, the collector of traces and the history, and nothing else', () => {
    const { policyTypes, egress } = egressOf('api', LEAST);
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(egress).toEqual([NAMES, REDIS]);
    expect(egressOf('api', ALL).egress).toEqual([NAMES, REDIS, COLLECTOR, HISTORY]);
  });

  it('let the API be reached by everybody, or by those who are named', () => {
    const port = { protocol: 'TCP', port: 'http' };
    expect(egressOf('api', LEAST).ingress).toEqual([{ ports: [port] }]);
    expect(egressOf('api', ALL).ingress).toEqual([
      { ports: [port], from: expect.arrayContaining([{ podSelector: { matchLabels: { app: 'shop' } } }]) },
    ]);
  });

  it('let those who are not named reach the API to scrape it, and to test the release', () => {
    const [{ from }] = egressOf('api', ALL).ingress as [{ from: unknown[] }];
    const { labels } = findObject(renderChart(helm, ALL), 'Pod', 'hooks-hookferry-test-ready').metadata;
    const [shop, prometheus, test, ...more] = from;
    expect([shop, ...more]).toEqual([{ podSelector: { matchLabels: { app: 'shop' } } }]);
    expect([prometheus]).toEqual(PROMETHEUS);
    expect(labels).toMatchObject(valueAt(test, 'podSelector.matchLabels') as object);
    expect(valueAt(test, 'podSelector.matchLabels')).toMatchObject({ 'app.kubernetes.io/component': 'test' });
  });

  it('let workers be reached by Prometheus alone', () => {
    const port = { protocol: 'TCP', port: 'http' };
    expect(egressOf('worker', ALL).ingress).toEqual([{ ports: [port], from: PROMETHEUS }]);
  });

  it('let workers reach names, Redis and public addresses, over TCP', () => {
    const { policyTypes, egress } = egressOf('worker', LEAST);
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(egress.slice(0, 2)).toEqual([NAMES, REDIS]);
    expect(egress.slice(2).map(({ ports }) => ports)).toEqual([[{ protocol: 'TCP' }]]);
  });

  it('let workers reach just those addresses that deliveries may go to', () => {
    const [, , receivers] = egressOf('worker', LEAST).egress;
    const policy = new AddressPolicy({ allowedCidrs: [], deniedCidrs: [] });
    const addresses = edgesOfAllRanges();
    const differ = addresses.filter(
      (address) => allows(receivers?.to ?? [], address) !== policy.classify(address).allowed,
    );
    expect(differ.filter((address) => !isIsatapAddress(address))).toEqual([]);
    expect(addresses.length).toBeGreaterThan(100);
    expect(addresses.filter((address) => policy.classify(address).allowed).length).toBeGreaterThan(20);
  });

  it('let workers reach the internal receivers that are allowed', () => {
    const receivers = egressOf('worker', ALL).egress.at(-1);
    expect(allows(receivers?.to ?? [], '10.1.2.3')).toBe(true);
    expect(allows(receivers?.to ?? [], '10.2.2.3')).toBe(false);
  });

  it('let workers reach the collector of traces, and the history, if there are some', () => {
    const [, , collector, history, mail] = egressOf('worker', ALL).egress;
    expect([collector, history]).toEqual([COLLECTOR, HISTORY]);
    expect(mail).toMatchObject({ ports: [{ protocol: 'TCP', port: 465 }] });
  });

  it('let workers that have a proxy reach it, and no receiver past it', () => {
    const { egress } = egressOf('worker', withProxy({ keys: { deliveryProxyUrl: 'proxy-url' } }));
    expect(egress.slice(2)).toEqual([VIA_PROXY]);
  });

  it('let workers that send mail reach its server, also past a proxy, and the API never', () => {
    const keys = { deliveryProxyUrl: 'proxy-url', smtpUrl: 'smtp-url' };
    const values = withProxy({ keys, smtp: { to: MAIL.to } });
    expect(egressOf('worker', values).egress.slice(2)).toEqual([MAIL, VIA_PROXY]);
    expect(egressOf('api', values).egress).not.toContainEqual(MAIL);
  });
});

/** Whether an address is in one of the blocks, as Kubernetes defines them. */
function allows(peers: readonly Peer[], address: string): boolean {
  return peers.some(
    ({ ipBlock }) =>
      ipBlock !== undefined &&
      isWithin(address, ipBlock.cidr) &&
      !(ipBlock.except ?? []).some((except) => isWithin(address, except)),
  );
}

function isWithin(address: string, cidr: string): boolean {
  const [range, bits] = ipaddr.parseCIDR(cidr);
  const parsed = ipaddr.parse(address);
  return parsed.kind() === range.kind() && parsed.match([range, bits] as [ipaddr.IPv4, number]);
}

/** The first and the last address of each range that deliveries know, and those just outside. */
function edgesOfAllRanges(): readonly string[] {
  const refused = [...REFUSED_IPV4, ...REFUSED_IPV6, ...NAMED_IPV6].map(([cidr]) => cidr);
  return [...refused, ...CLOUD_METADATA, GLOBAL_UNICAST_IPV6].flatMap(edgesOf);
}

function edgesOf(cidr: string): readonly string[] {
  const [range, bits] = ipaddr.parseCIDR(cidr);
  const bytes = range.toByteArray();
  const width = BigInt(bytes.length * 8);
  const first = bytes.reduce((value, byte) => value * 256n + BigInt(byte), 0n);
  const last = first + 2n ** (width - BigInt(bits)) - 1n;
  return [first - 1n, first, last, last + 1n]
    .filter((value) => value >= 0n && value < 2n ** width)
    .map((value) => ipaddr.fromByteArray(bytesOf(value, bytes.length)).toString());
}

function bytesOf(value: bigint, length: number): number[] {
  return Array.from({ length }, (_, index) => Number((value >> BigInt(8 * (length - 1 - index))) & 255n));
}

// Network policies know no pattern in the middle of an address: the workers alone refuse these.
function isIsatapAddress(address: string): boolean {
  const parsed = ipaddr.parse(address);
  return parsed instanceof ipaddr.IPv6 && isIsatap(parsed);
}
