import { parseAddress } from '../egress/address-range';

// What a provider gives to one customer at least (RFC 6177).
const IPV6_NETWORK_PARTS = 4;

/** Whom an address belongs to: itself for IPv4, the /64 for IPv6, one and the same for what is no address. */
export function clientNetworkOf(address = ''): string {
  const parsed = parseAddress(address);
  if (!parsed) return 'unknown';
  if (!('parts' in parsed)) return address;
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  return parsed.parts
    .slice(0, IPV6_NETWORK_PARTS)
    .map((part) => part.toString(16))
    .join(':');
}
