import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Why an address is refused: a closed set, for the log and for people. */
export type RefusalReason =
  | 'not_an_address'
  | 'unspecified'
  | 'private'
  | 'shared'
  | 'loopback'
  | 'link_local'
  | 'cloud_metadata'
  | 'protocol_assignment'
  | 'documentation'
  | 'benchmark'
  | 'transition'
  | 'anycast_service'
  | 'multicast'
  | 'reserved'
  | 'not_global_unicast'
  | 'denied_by_operator';

export type Refusal = readonly [cidr: string, reason: RefusalReason];

/**
 * Where clouds give credentials to any client on the inside. Only an exception for exactly this address opens
 * it. A wider exception, such as `100.64.0.0/10` for a VPN, was not made with these addresses in mind.
 */
export const CLOUD_METADATA: readonly string[] = [
  '100.100.100.200/32', // Alibaba
  '168.63.129.16/32', // Azure's platform address, public by its number only
  '169.254.169.254/32', // AWS, Azure, Google, Oracle, DigitalOcean …
  '169.254.170.2/32', // AWS, ECS tasks
  '169.254.170.23/32', // AWS, EKS pods
  '192.0.0.192/32', // Oracle
  'fd00:ec2::254/128', // AWS
  'fd00:ec2::23/128', // AWS, EKS pods
  'fd20:ce::254/128', // Google
];

/**
 * The IPv4 ranges that no webhook may reach: the IANA special-purpose registry, multicast and reserved
 * ranges.
 */
export const REFUSED_IPV4: readonly Refusal[] = [
  ['0.0.0.0/8', 'unspecified'], // RFC 791
  ['10.0.0.0/8', 'private'], // RFC 1918
  ['100.64.0.0/10', 'shared'], // RFC 6598, carrier-grade NAT
  ['127.0.0.0/8', 'loopback'], // RFC 1122
  ['169.254.0.0/16', 'link_local'], // RFC 3927
  ['172.16.0.0/12', 'private'], // RFC 1918
  ['192.0.0.0/24', 'protocol_assignment'], // RFC 6890
  ['192.0.2.0/24', 'documentation'], // RFC 5737
  ['192.31.196.0/24', 'anycast_service'], // RFC 7535, AS112
  ['192.52.193.0/24', 'anycast_service'], // RFC 7450, AMT
  ['192.88.99.0/24', 'transition'], // RFC 7526, 6to4 relays
  ['192.168.0.0/16', 'private'], // RFC 1918
  ['192.175.48.0/24', 'anycast_service'], // RFC 7534, AS112
  ['198.18.0.0/15', 'benchmark'], // RFC 2544
  ['198.51.100.0/24', 'documentation'], // RFC 5737
  ['203.0.113.0/24', 'documentation'], // RFC 5737
  ['224.0.0.0/4', 'multicast'], // RFC 5771
  ['240.0.0.0/4', 'reserved'], // RFC 1112; 255.255.255.255 too
];

/** In IPv6 only global unicast is allowed at all. */
export const GLOBAL_UNICAST_IPV6 = '2000::/3'; // RFC 4291

/** Ranges of global unicast that are refused. */
export const REFUSED_IPV6: readonly Refusal[] = [
  ['2001:db8::/32', 'documentation'], // RFC 3849
  ['2001::/32', 'transition'], // RFC 4380, Teredo
  ['2001::/23', 'protocol_assignment'], // RFC 2928
  ['2002::/16', 'transition'], // RFC 3056, 6to4
  ['2620:4f:8000::/48', 'anycast_service'], // RFC 7534, AS112
  ['3fff::/20', 'documentation'], // RFC 9637
];

/** Names for addresses outside of global unicast. The rest is `not_global_unicast`. */
export const NAMED_IPV6: readonly Refusal[] = [
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::/96', 'transition'], // RFC 4291, IPv4-compatible
  ['::ffff:0:0/96', 'transition'], // RFC 4291, IPv4-mapped
  ['::ffff:0:0:0/96', 'transition'], // RFC 2765, IPv4-translated
  ['64:ff9b::/96', 'transition'], // RFC 6052, NAT64
  ['64:ff9b:1::/48', 'transition'], // RFC 8215, local NAT64
  ['100::/64', 'reserved'], // RFC 6666, discard-only
  ['fc00::/7', 'private'], // RFC 4193
  ['fe80::/10', 'link_local'], // RFC 4291
  ['ff00::/8', 'multicast'], // RFC 4291
];

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

export interface AddressRange {
  readonly network: Address;
  readonly prefixBits: number;
}

const CIDR = /^([^/]+)\/(\d{1,3})$/;

/** An IP address in its usual spelling; `undefined` for anything else. */
export function parseAddress(text: string): Address | undefined {
  // ipaddr.js by itself also takes 0177.1 or 10, for which there are two readings; Node's check does not.
  if (isIPv4(text)) return ipaddr.IPv4.parse(text);
  // A zone (fe80::1%eth0) makes an address one of this machine's links only.
  return isIPv6(text) && !text.includes('%') ? ipaddr.IPv6.parse(text) : undefined;
}

/** `10.0.0.0/8`, `fd00::/8`; `undefined` for anything else. Bits beyond the prefix don't matter. */
export function parseRange(text: string): AddressRange | undefined {
  const [, addressText = '', bitsText = ''] = CIDR.exec(text) ?? [];
  const network = parseAddress(addressText);
  const prefixBits = Number(bitsText);
  if (!network || bitsText === '' || prefixBits > bitsOf(network)) return undefined;
  return { network, prefixBits };
}

/** As `parseRange`, for a text that was checked before, or is a constant of the code. */
export function parseKnownRange(text: string): AddressRange {
  const range = parseRange(text);
  if (!range) throw new Error(`${text} is not a range of addresses.`);
  return range;
}

export function isWithin(address: Address, { network, prefixBits }: AddressRange): boolean {
  return address.kind() === network.kind() && address.match(network, prefixBits);
}

/** Whether the range is a single address. */
export function isSingle({ network, prefixBits }: AddressRange): boolean {
  return prefixBits === bitsOf(network);
}

/** Whether the range is written by its first address: no bit is set beyond its prefix. */
export function isNetwork({ network, prefixBits }: AddressRange): boolean {
  return network.toByteArray().every((byte, index) => {
    const bits = Math.min(Math.max(prefixBits - index * 8, 0), 8);
    return (byte & (0xff >> bits)) === 0;
  });
}

function bitsOf(address: Address): number {
  return address.kind() === 'ipv4' ? 32 : 128;
}
