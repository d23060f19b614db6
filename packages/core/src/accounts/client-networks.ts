import { type Address, parseAddress } from '../model/address-range';

/** Whom an address belongs to. */
export interface ClientNetwork {
  readonly name: string;
  /** How many single clients' worth of failures it may have. */
  readonly clients: number;
}

// Far more than clients that got their key wrong at the same time by chance.
const WIDE_NETWORK_CLIENTS = 16;

/**
 * The networks that a client's failures count for, the narrowest first. Of IPv4 its address and its /24, the smallest
 * that is routed. Of IPv6 its /64, what a provider gives to one customer at least, and its /48, what it may give at most
 * (RFC 6177). What is no address is all of one.
 */
export function clientNetworksOf(address = ''): readonly ClientNetwork[] {
  const parsed = parseAddress(address);
  if (!parsed) return [{ name: 'unknown', clients: 1 }];
  const [narrow, wide] = 'parts' in parsed && !parsed.isIPv4MappedAddress() ? [64, 48] : [32, 24];
  const bytes = bytesOf(parsed);
  return [
    { name: networkOf(bytes, narrow), clients: 1 },
    { name: networkOf(bytes, wide), clients: WIDE_NETWORK_CLIENTS },
  ];
}

function bytesOf(address: Address): Buffer {
  const isMapped = 'parts' in address && address.isIPv4MappedAddress();
  return Buffer.from((isMapped ? address.toIPv4Address() : address).toByteArray());
}

function networkOf(bytes: Buffer, bits: number): string {
  return `${bytes.toString('hex', 0, bits / 8)}/${bits}`;
}
