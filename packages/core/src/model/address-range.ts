import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

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

/** The same of a text that was checked before, or stands in our own code. */
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

function bitsOf(address: Address): number {
  return address.kind() === 'ipv4' ? 32 : 128;
}
