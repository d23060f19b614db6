import ipaddr from 'ipaddr.js';
import { type Address, isWithin, parseKnownRange } from '../model/address-range';

type Bytes = readonly number[];

// Each way to put an IPv4 address into an IPv6 one that some host, router or tunnel would send on to it.
const WRAPPINGS = [
  wrapping('::ffff:0:0/96', lastFour), // RFC 4291, IPv4-mapped
  wrapping('::ffff:0:0:0/96', lastFour), // RFC 2765, IPv4-translated
  wrapping('64:ff9b::/96', lastFour), // RFC 6052, NAT64
  wrapping('2002::/16', (bytes) => bytes.slice(2, 6)), // RFC 3056, 6to4
  wrapping('2001::/32', (bytes) => lastFour(bytes).map((byte) => byte ^ 0xff)), // RFC 4380, Teredo: inverted
  wrapping('::/96', lastFour), // RFC 4291, IPv4-compatible
];

// RFC 5214: an interface id that begins with 0000:5efe or 0200:5efe tunnels to the IPv4 address after it.
const ISATAP_MARK = 0x5efe;
const ISATAP_FLAGS = [0, 0x200];

/** The IPv4 address that a packet to this IPv6 address would end at, where it names one. */
export function wrappedIpv4(address: Address): ipaddr.IPv4 | undefined {
  if (!(address instanceof ipaddr.IPv6) || isUnspecifiedOrLoopback(address)) return undefined;
  const found = WRAPPINGS.find(({ range }) => isWithin(address, range));
  const unwrap = found?.unwrap ?? (isIsatap(address) ? lastFour : undefined);
  return unwrap && new ipaddr.IPv4([...unwrap(address.toByteArray())]);
}

export function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return parts[5] === ISATAP_MARK && ISATAP_FLAGS.includes(parts[4] ?? 0);
}

// `::` and `::1` lie in the range of the IPv4-compatible ones, but are none.
function isUnspecifiedOrLoopback(address: ipaddr.IPv6): boolean {
  return ['::', '::1'].includes(address.toString());
}

function lastFour(bytes: Bytes): Bytes {
  return bytes.slice(12);
}

function wrapping(cidr: string, unwrap: (bytes: Bytes) => Bytes) {
  return { range: parseKnownRange(cidr), unwrap };
}
