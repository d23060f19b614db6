import ipaddr from 'ipaddr.js';
import {
  type Address,
  type AddressRange,
  isSingle,
  isWithin,
  parseAddress,
  parseKnownRange,
} from '../model/address-range';
import {
  CLOUD_METADATA,
  GLOBAL_UNICAST_IPV6,
  NAMED_IPV6,
  REFUSED_IPV4,
  REFUSED_IPV6,
  type Refusal,
  type RefusalReason,
} from '../model/address-ranges';
import { isIsatap, wrappedIpv4 } from './wrapped-ipv4';

export type AddressVerdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly reason: RefusalReason };

export interface AddressExceptions {
  /** Ranges that are allowed although they would be refused, such as `10.1.0.0/16`. */
  readonly allowedCidrs: readonly string[];
  /** Ranges that are refused whatever else says; they win over the allowed ones. */
  readonly deniedCidrs: readonly string[];
}

/** Tells of an IP address whether a delivery may go there. */
export type ClassifyAddress = (address: string) => AddressVerdict;

type RefusedRange = readonly [range: AddressRange, reason: RefusalReason];

const metadata = CLOUD_METADATA.map(parseKnownRange);
const refusedIpv4 = REFUSED_IPV4.map(parseRefusal);
const refusedIpv6 = REFUSED_IPV6.map(parseRefusal);
const namedIpv6 = NAMED_IPV6.map(parseRefusal);
const globalUnicastIpv6 = parseKnownRange(GLOBAL_UNICAST_IPV6);

/** What is not a plain IP address is refused: nothing passes because it was not understood. */
export function createClassifyAddress({ allowedCidrs, deniedCidrs }: AddressExceptions): ClassifyAddress {
  const allowed = allowedCidrs.map(parseKnownRange);
  const denied = deniedCidrs.map(parseKnownRange);

  return (text) => {
    const address = parseAddress(text);
    const reason = address ? refusalOf(address) : 'not_an_address';
    return reason === undefined ? { allowed: true } : { allowed: false, reason };
  };

  function refusalOf(address: Address): RefusalReason | undefined {
    // An exception for the wrapping, such as NAT64's 64:ff9b::/96, is none for what may be wrapped in it.
    const inner = wrappedIpv4(address);
    const innerReason = inner && refusalOf(inner);
    if (isWithinAny(address, denied) || innerReason === 'denied_by_operator') return 'denied_by_operator';
    if (isExcepted(address)) return innerReason;
    return standingRefusalOf(address);
  }

  function isExcepted(address: Address): boolean {
    const exceptions = isWithinAny(address, metadata) ? allowed.filter(isSingle) : allowed;
    return isWithinAny(address, exceptions);
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
