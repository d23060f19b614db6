import ipaddr from 'ipaddr.js';
import {
  type Address,
  type AddressRange,
  CLOUD_METADATA,
  GLOBAL_UNICAST_IPV6,
  isSingle,
  isWithin,
  NAMED_IPV6,
  parseAddress,
  parseKnownRange,
  REFUSED_IPV4,
  REFUSED_IPV6,
  type Refusal,
  type RefusalReason,
} from '../../domain/address-ranges';
import type { Emit } from '../../domain/signal';
import type { AddressVerdict } from '../../domain/target-url';

export interface AddressExceptions {
  /** Ranges that are allowed although they would be refused, such as `10.1.0.0/16`. */
  readonly allowedCidrs: readonly string[];
  /** Ranges that are always refused, also if they are allowed, too. */
  readonly deniedCidrs: readonly string[];
}

type RefusedRange = readonly [range: AddressRange, reason: RefusalReason];

const metadata = CLOUD_METADATA.map(parseKnownRange);
const refusedIpv4 = REFUSED_IPV4.map(parseRefusal);
const refusedIpv6 = REFUSED_IPV6.map(parseRefusal);
const namedIpv6 = NAMED_IPV6.map(parseRefusal);
const globalUnicastIpv6 = parseKnownRange(GLOBAL_UNICAST_IPV6);

/**
 * Decides where deliveries may go, by IP address. Anything but a plain address is refused: nothing passes
 * because it was not understood.
 */
export class AddressPolicy {
  readonly #allowed: readonly AddressRange[];
  readonly #denied: readonly AddressRange[];

  constructor({ allowedCidrs, deniedCidrs }: AddressExceptions) {
    this.#allowed = allowedCidrs.map(parseKnownRange);
    this.#denied = deniedCidrs.map(parseKnownRange);
  }

  classify(text: string): AddressVerdict {
    const address = parseAddress(text);
    const reason = address ? this.#refusalOf(address) : 'not_an_address';
    return reason === undefined ? { allowed: true } : { allowed: false, reason };
  }

  #refusalOf(address: Address): RefusalReason | undefined {
    // An exception for the wrapping, such as NAT64's 64:ff9b::/96, does not cover the wrapped address.
    const inner = wrappedIpv4(address);
    const innerReason = inner && this.#refusalOf(inner);
    if (isWithinAny(address, this.#denied) || innerReason === 'denied_by_operator')
      return 'denied_by_operator';
    if (this.#isExcepted(address)) return innerReason;
    return standingRefusalOf(address);
  }

  #isExcepted(address: Address): boolean {
    const exceptions = isWithinAny(address, metadata) ? this.#allowed.filter(isSingle) : this.#allowed;
    return isWithinAny(address, exceptions);
  }
}

export interface CheckTargetParts {
  readonly addressPolicy: Pick<AddressPolicy, 'classify'>;
  readonly emit: Emit;
}

/**
 * Give the error to end a connection with if its address may not be reached.
 *
 * @param host as in the URL: the address itself, or a name that led to it.
 */
export function checkTarget(
  { addressPolicy, emit }: CheckTargetParts,
  host: string,
  address: string,
): BlockedAddressError | undefined {
  const verdict = addressPolicy.classify(address);
  if (verdict.allowed) return undefined;
  emit({ name: 'delivery.blocked', host, address, reason: verdict.reason });
  return new BlockedAddressError(host);
}

/** A delivery would have gone to a forbidden address. */
class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  /** A code, as in Node's own network errors: the HTTP client passes it on, but not the class. */
  readonly code = 'ERR_BLOCKED_ADDRESS';

  /**
   * The message is shown to the client, so it repeats the client's host, and not the address that this
   * service's DNS gives for it: otherwise anybody who can register a name could map an internal network. The
   * log has the address.
   */
  constructor(host: string) {
    super(`${host} leads to an address that no delivery may go to; the worker's log says to which and why.`);
  }
}

function standingRefusalOf(address: Address): RefusalReason | undefined {
  if (isWithinAny(address, metadata)) return 'cloud_metadata';
  return address instanceof ipaddr.IPv4 ? reasonOf(address, refusedIpv4) : refusalOfIpv6(address);
}

function refusalOfIpv6(address: ipaddr.IPv6): RefusalReason | undefined {
  if (!isWithin(address, globalUnicastIpv6)) return reasonOf(address, namedIpv6) ?? 'not_global_unicast';
  return reasonOf(address, refusedIpv6) ?? (isIsatap(address) ? 'transition' : undefined);
}

function isWithinAny(address: Address, ranges: readonly AddressRange[]): boolean {
  return ranges.some((range) => isWithin(address, range));
}

function reasonOf(address: Address, ranges: readonly RefusedRange[]): RefusalReason | undefined {
  return ranges.find(([range]) => isWithin(address, range))?.[1];
}

function parseRefusal([cidr, reason]: Refusal): RefusedRange {
  return [parseKnownRange(cidr), reason];
}

type Bytes = readonly number[];

// Each way to put an IPv4 address into an IPv6 one that some host, router or tunnel would forward to it.
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

/** The IPv4 address that a packet to this IPv6 address would reach, if it contains one. */
function wrappedIpv4(address: Address): ipaddr.IPv4 | undefined {
  if (!(address instanceof ipaddr.IPv6) || isUnspecifiedOrLoopback(address)) return undefined;
  const found = WRAPPINGS.find(({ range }) => isWithin(address, range));
  const unwrap = found?.unwrap ?? (isIsatap(address) ? lastFour : undefined);
  return unwrap && new ipaddr.IPv4([...unwrap(address.toByteArray())]);
}

export function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return parts[5] === ISATAP_MARK && ISATAP_FLAGS.includes(parts[4] ?? 0);
}

// `::` and `::1` are in the range of the IPv4-compatible ones, but they are not IPv4-compatible.
function isUnspecifiedOrLoopback(address: ipaddr.IPv6): boolean {
  return ['::', '::1'].includes(address.toString());
}

function lastFour(bytes: Bytes): Bytes {
  return bytes.slice(12);
}

function wrapping(cidr: string, unwrap: (bytes: Bytes) => Bytes) {
  return { range: parseKnownRange(cidr), unwrap };
}
