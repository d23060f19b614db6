import type { RefusalReason } from '../../domain/address-ranges';
import { type AddressExceptions, AddressPolicy } from './address-policy';

type Expected = RefusalReason | 'allowed';

function verdictOn(address: string, exceptions: Partial<AddressExceptions> = {}): Expected {
  const verdict = new AddressPolicy({ allowedCidrs: [], deniedCidrs: [], ...exceptions }).classify(address);
  return verdict.allowed ? 'allowed' : verdict.reason;
}

/** What comes right before the range, its first, its last, and what comes right after it. */
type Edges = readonly [before: string, first: string, last: string, after: string];

function edgeCases(
  range: string,
  [before, first, last, after]: Edges,
  reason: RefusalReason,
  outside: { readonly before?: Expected; readonly after?: Expected } = {},
): [string, string, Expected][] {
  return [
    [`before ${range}`, before, outside.before ?? 'allowed'],
    [`the first of ${range}`, first, reason],
    [`the last of ${range}`, last, reason],
    [`after ${range}`, after, outside.after ?? 'allowed'],
  ];
}

const f = (groups: number) => Array<string>(groups).fill('ffff').join(':');

describe('IPv4', () => {
  it.each([
    ['the first address', '0.0.0.0', 'unspecified'],
    ['the last of 0.0.0.0/8', '0.255.255.255', 'unspecified'],
    ['after 0.0.0.0/8', '1.0.0.0', 'allowed'],
    ...edgeCases('10/8', ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'], 'private'),
    ...edgeCases('100.64/10', ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'], 'shared'),
    ...edgeCases('127/8', ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'], 'loopback'),
    ...edgeCases(
      "Azure's platform",
      ['168.63.129.15', '168.63.129.16', '168.63.129.16', '168.63.129.17'],
      'cloud_metadata',
    ),
    ...edgeCases(
      '169.254/16',
      ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
      'link_local',
    ),
    ...edgeCases(
      "the clouds' metadata",
      ['169.254.169.253', '169.254.169.254', '169.254.169.254', '169.254.169.255'],
      'cloud_metadata',
      { before: 'link_local', after: 'link_local' },
    ),
    ...edgeCases('172.16/12', ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'], 'private'),
    ...edgeCases(
      '192.0.0/24',
      ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
      'protocol_assignment',
    ),
    ...edgeCases('192.0.2/24', ['192.0.1.255', '192.0.2.0', '192.0.2.255', '192.0.3.0'], 'documentation'),
    ...edgeCases(
      '192.31.196/24',
      ['192.31.195.255', '192.31.196.0', '192.31.196.255', '192.31.197.0'],
      'anycast_service',
    ),
    ...edgeCases(
      '192.52.193/24',
      ['192.52.192.255', '192.52.193.0', '192.52.193.255', '192.52.194.0'],
      'anycast_service',
    ),
    ...edgeCases(
      '192.88.99/24',
      ['192.88.98.255', '192.88.99.0', '192.88.99.255', '192.88.100.0'],
      'transition',
    ),
    ...edgeCases(
      '192.168/16',
      ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
      'private',
    ),
    ...edgeCases(
      '192.175.48/24',
      ['192.175.47.255', '192.175.48.0', '192.175.48.255', '192.175.49.0'],
      'anycast_service',
    ),
    ...edgeCases('198.18/15', ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'], 'benchmark'),
    ...edgeCases(
      '198.51.100/24',
      ['198.51.99.255', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
      'documentation',
    ),
    ...edgeCases(
      '203.0.113/24',
      ['203.0.112.255', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
      'documentation',
    ),
    ...edgeCases('224/4', ['223.255.255.255', '224.0.0.0', '239.255.255.255', '240.0.0.0'], 'multicast', {
      after: 'reserved',
    }),
    ['the broadcast address', '255.255.255.255', 'reserved'],
    ['the metadata of Alibaba', '100.100.100.200', 'cloud_metadata'],
    ['the metadata of Oracle', '192.0.0.192', 'cloud_metadata'],
    ['the credentials of ECS', '169.254.170.2', 'cloud_metadata'],
    ['a public resolver', '8.8.8.8', 'allowed'],
    ['a public web server', '93.184.216.34', 'allowed'],
  ] satisfies [string, string, Expected][])('%s: %s is %s', (_what, address, expected) => {
    expect(verdictOn(address)).toBe(expected);
  });
});

describe('IPv6', () => {
  it.each([
    ['the first of 2000::/3', '2000::', 'allowed'],
    ['after 2000::/3', '4000::', 'not_global_unicast'],
    ['before 2000::/3', `1fff:${f(7)}`, 'not_global_unicast'],
    ['the last of 2000::/3', `3fff:${f(7)}`, 'allowed'],
    ...edgeCases('Teredo', [`2000:${f(7)}`, '2001::', `2001:0:${f(6)}`, '2001:1::'], 'transition', {
      after: 'protocol_assignment',
    }),
    ['the last of 2001::/23', `2001:1ff:${f(6)}`, 'protocol_assignment'],
    ['ORCHIDv2', '2001:20::1', 'protocol_assignment'],
    ['after 2001::/23', '2001:200::', 'allowed'],
    ...edgeCases(
      '2001:db8::/32',
      [`2001:db7:${f(6)}`, '2001:db8::', `2001:db8:${f(6)}`, '2001:db9::'],
      'documentation',
    ),
    ...edgeCases('6to4', [`2001:${f(7)}`, '2002::', `2002:${f(7)}`, '2003::'], 'transition'),
    ...edgeCases(
      '2620:4f:8000::/48',
      [`2620:4f:7fff:${f(5)}`, '2620:4f:8000::', `2620:4f:8000:${f(5)}`, '2620:4f:8001::'],
      'anycast_service',
    ),
    ...edgeCases('3fff::/20', [`3ffe:${f(7)}`, '3fff::', `3fff:fff:${f(6)}`, '3fff:1000::'], 'documentation'),
    ['unspecified', '::', 'unspecified'],
    ['unspecified, spelled out', '0:0:0:0:0:0:0:0', 'unspecified'],
    ['loopback', '::1', 'loopback'],
    ['loopback, spelled out', '0000:0000:0000:0000:0000:0000:0000:0001', 'loopback'],
    ['IPv4-mapped loopback', '::ffff:127.0.0.1', 'transition'],
    ['IPv4-mapped loopback in hex', '::ffff:7f00:1', 'transition'],
    ['IPv4-mapped loopback, spelled out', '0:0:0:0:0:ffff:7f00:0001', 'transition'],
    ['IPv4-mapped metadata', '::FFFF:169.254.169.254', 'transition'],
    ['IPv4-mapped, though public', '::ffff:8.8.8.8', 'transition'],
    ['IPv4-compatible loopback', '::127.0.0.1', 'transition'],
    ['IPv4-compatible metadata', '::a9fe:a9fe', 'transition'],
    ['IPv4-translated', '::ffff:0:10.0.0.1', 'transition'],
    ['NAT64 of loopback', '64:ff9b::127.0.0.1', 'transition'],
    ['NAT64 of metadata', '64:ff9b::a9fe:a9fe', 'transition'],
    ['NAT64, though public', '64:ff9b::8.8.8.8', 'transition'],
    ['local NAT64', '64:ff9b:1::10.0.0.1', 'transition'],
    ['local NAT64, the last', `64:ff9b:1:${f(5)}`, 'transition'],
    ['after local NAT64', '64:ff9b:2::', 'not_global_unicast'],
    ['6to4 of a private address', '2002:a00:1::', 'transition'],
    ['6to4, though public', '2002:808:808::1', 'transition'],
    ['Teredo of loopback', '2001:0:4136:e378:8000:63bf:80ff:fffe', 'transition'],
    ['ISATAP of a private address', '2600:1f18::5efe:10.0.0.1', 'transition'],
    ['ISATAP with a universal id', '2600:1f18::200:5efe:10.0.0.1', 'transition'],
    ['ISATAP, though public', '2600:1f18::5efe:8.8.8.8', 'transition'],
    ['what only looks like ISATAP', '2600:1f18::5eff:a00:1', 'allowed'],
    ['discard-only', '100::1', 'reserved'],
    ['beyond discard-only', '100:0:0:1::', 'not_global_unicast'],
    ['unique local, the first', 'fc00::', 'private'],
    ['unique local, the last', `fdff:${f(7)}`, 'private'],
    ['before unique local', `fbff:${f(7)}`, 'not_global_unicast'],
    ['after unique local', 'fe00::', 'not_global_unicast'],
    ['the metadata of AWS', 'fd00:ec2::254', 'cloud_metadata'],
    ['the metadata of Google', 'fd20:ce::254', 'cloud_metadata'],
    ['link-local, the first', 'fe80::', 'link_local'],
    ['link-local, the last', `febf:${f(7)}`, 'link_local'],
    ['site-local, once', 'fec0::1', 'not_global_unicast'],
    ['multicast, the first', 'ff00::', 'multicast'],
    ['multicast, the last', `ffff:${f(7)}`, 'multicast'],
    ['segment routing', '5f00::1', 'not_global_unicast'],
    ['a public resolver', '2001:4860:4860::8888', 'allowed'],
    ['a public web server', '2606:2800:220:1:248:1893:25c8:1946', 'allowed'],
  ] satisfies [string, string, Expected][])('%s: %s is %s', (_what, address, expected) => {
    expect(verdictOn(address)).toBe(expected);
  });
});

describe('what is not an address in its usual spelling', () => {
  it.each([
    '',
    ' ',
    'localhost',
    'example.com',
    '127.1',
    '127.0.0.1.',
    '127.0.0.1 ',
    ' 8.8.8.8',
    '0177.0.0.1',
    '010.8.8.8',
    '08.8.8.8',
    '0x7f.0.0.1',
    '0x7f000001',
    '2130706433',
    '1',
    '8.8.8',
    '8.8.8.256',
    '8.8.8.8.8',
    '8.8.8.8/32',
    '8.8.8.8:80',
    '１２７.0.0.1',
    '[::1]',
    '[2606:2800:220::1]',
    '2606:2800:220::1%eth0',
    'fe80::1%lo',
    '::1%0',
    ':',
    ':::',
    '1::2::3',
    '2606:2800:220:1:248:1893:25c8:1946:1',
    'g::1',
    '::ffff:0177.0.0.1',
    '/var/run/docker.sock',
    'undefined',
  ])('is refused: %j', (text) => {
    expect(verdictOn(text)).toBe('not_an_address');
    expect(verdictOn(text, { allowedCidrs: ['0.0.0.0/0', '::/0'] })).toBe('not_an_address');
  });
});

describe('an exception', () => {
  it.each<[string, readonly string[], string, Expected]>([
    ['opens its range', ['10.1.0.0/16'], '10.1.255.255', 'allowed'],
    ['opens nothing before its range', ['10.1.0.0/16'], '10.0.255.255', 'private'],
    ['opens nothing after its range', ['10.1.0.0/16'], '10.2.0.0', 'private'],
    ['may be one of several', ['10.1.0.0/16', 'fd12::/16'], 'fd12::1', 'allowed'],
    ['may be a single address', ['10.1.2.3/32'], '10.1.2.3', 'allowed'],
    ['may be a single address of IPv6', ['::1/128'], '::1', 'allowed'],
    ['opens no other address', ['10.1.2.3/32'], '10.1.2.4', 'private'],
    ['may have bits beyond its prefix', ['127.0.0.1/8'], '127.9.9.9', 'allowed'],
    ['of IPv4 opens no IPv6', ['0.0.0.0/0'], '::1', 'loopback'],
    ['of IPv4 opens no IPv4-mapped IPv6', ['127.0.0.0/8'], '::ffff:127.0.0.1', 'transition'],
    ['of IPv6 opens no IPv4', ['::/0'], '10.0.0.1', 'private'],
    ['opens no metadata service beside it', ['169.254.0.0/16'], '169.254.169.254', 'cloud_metadata'],
    ['opens no metadata service, however wide', ['0.0.0.0/0'], '100.100.100.200', 'cloud_metadata'],
    ['opens no metadata service in IPv6', ['fd00::/8'], 'fd00:ec2::254', 'cloud_metadata'],
    [
      'opens a metadata service if it is for that alone',
      ['169.254.169.254/32'],
      '169.254.169.254',
      'allowed',
    ],
    ['for NAT64 opens public IPv4', ['64:ff9b::/96'], '64:ff9b::8.8.8.8', 'allowed'],
    ['for NAT64 opens no private IPv4', ['64:ff9b::/96'], '64:ff9b::10.0.0.1', 'private'],
    ['for NAT64 opens no metadata', ['64:ff9b::/96', '0.0.0.0/0'], '64:ff9b::a9fe:a9fe', 'cloud_metadata'],
    ['for NAT64 and a private range opens both', ['64:ff9b::/96', '10.0.0.0/8'], '64:ff9b::a00:1', 'allowed'],
    ['for all of IPv6 opens no mapped loopback', ['::/0'], '::ffff:127.0.0.1', 'loopback'],
    ['for all of IPv6 opens no compatible loopback', ['::/0'], '::127.0.0.1', 'loopback'],
    ['for all of IPv6 opens no 6to4 of a private address', ['::/0'], '2002:a00:1::', 'private'],
    ['for all of IPv6 opens no Teredo of loopback', ['::/0'], '2001::80ff:fffe', 'loopback'],
    ['for all of IPv6 opens no ISATAP of metadata', ['::/0'], 'fd12::5efe:a9fe:a9fe', 'cloud_metadata'],
    ['for all of IPv6 opens its loopback', ['::/0'], '::1', 'allowed'],
  ])('%s', (_what, allowedCidrs, address, expected) => {
    expect(verdictOn(address, { allowedCidrs })).toBe(expected);
  });
});

describe('a denial', () => {
  it.each<[string, Partial<AddressExceptions>, string, Expected]>([
    ['closes public addresses', { deniedCidrs: ['8.8.0.0/16'] }, '8.8.8.8', 'denied_by_operator'],
    ['closes no other address', { deniedCidrs: ['8.8.0.0/16'] }, '8.9.0.0', 'allowed'],
    [
      'wins over an exception',
      { allowedCidrs: ['10.0.0.0/8'], deniedCidrs: ['10.1.0.0/16'] },
      '10.1.0.1',
      'denied_by_operator',
    ],
    [
      'wins over a narrower exception',
      { allowedCidrs: ['10.1.0.1/32'], deniedCidrs: ['10.0.0.0/8'] },
      '10.1.0.1',
      'denied_by_operator',
    ],
    [
      'leaves the rest of an exception',
      { allowedCidrs: ['10.0.0.0/8'], deniedCidrs: ['10.1.0.0/16'] },
      '10.2.0.1',
      'allowed',
    ],
    ['closes public IPv6', { deniedCidrs: ['2606:2800::/32'] }, '2606:2800:220::1', 'denied_by_operator'],
    [
      'holds for what NAT64 wraps',
      { allowedCidrs: ['64:ff9b::/96'], deniedCidrs: ['8.8.0.0/16'] },
      '64:ff9b::8.8.8.8',
      'denied_by_operator',
    ],
    [
      'can close everything',
      { deniedCidrs: ['0.0.0.0/0', '::/0'] },
      '2606:2800:220::1',
      'denied_by_operator',
    ],
  ])('%s', (_what, exceptions, address, expected) => {
    expect(verdictOn(address, exceptions)).toBe(expected);
  });
});

it('is not made from an invalid range', () => {
  expect(() => new AddressPolicy({ allowedCidrs: ['10/8'], deniedCidrs: [] })).toThrow('10/8');
});
