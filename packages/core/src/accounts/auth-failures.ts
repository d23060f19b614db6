import { hashKey, type Principal } from '../domain/account';
import { type Address, parseAddress } from '../domain/address-ranges';
import { AppError } from '../platform/app-error';
import { createLru } from '../platform/caches';
import type { Clock } from '../platform/clock';
import type { Allowance } from '../platform/duration';

// About 2 MB each when they are full.
const MAX_WATCHED = 10_000;
const MAX_BLOCKED = 10_000;
const REMEMBERED_KEYS = 10_000;

export interface AuthFailuresOptions {
  /** For each client; a wide network has more. */
  readonly allowance: Allowance;
  readonly clock: Clock;
}

interface Failures {
  count: number;
  /** Milliseconds since the Unix epoch. */
  readonly endsAt: number;
}

/**
 * Counts failed authentications by network. Blocked networks are kept apart from counted ones, so nobody gets
 * free by failures from many other addresses: those push out counts only, the longest unused first. When
 * there is no more room for blocked networks, no further one is blocked until the time of one is over.
 */
export class AuthFailures {
  readonly #watched = createLru<string, Failures>(MAX_WATCHED);
  /** Until when. */
  readonly #blocked = new Map<string, number>();
  /** No block ends sooner. Used only when there is no more room. */
  #firstEndsAt = 0;
  /** By the hash of the whole key: its id alone is no secret. */
  readonly #goodKeys = createLru<string, true>(REMEMBERED_KEYS);

  constructor(private readonly options: AuthFailuresOptions) {}

  /** For how long the address is still blocked; 0 if it is not. */
  blockedForMs(address: string | undefined): number {
    // Spares the usual request all the rest.
    if (this.#blocked.size === 0) return 0;
    const ends = clientNetworksOf(address).map(({ name }) => this.#blocked.get(name) ?? 0);
    return Math.max(...ends.map((endsAt) => endsAt - this.options.clock()), 0);
  }

  /** @throws AppError `rate_limited`, unless the request has a key that was good. */
  refuseBlocked(address: string | undefined, key = ''): void {
    const retryAfterMs = this.blockedForMs(address);
    if (retryAfterMs === 0 || this.#goodKeys.has(hashKey(key))) return;
    throw new AppError(
      'rate_limited',
      'Too many requests from your address had no valid API key. Try again later.',
      {
        retryAfterMs,
      },
    );
  }

  /** Remember that a key is good. */
  noteGood({ sha256 }: Principal): void {
    // Asking for it counts as its use, and costs less than noting it again.
    if (!this.#goodKeys.get(sha256)) this.#goodKeys.set(sha256, true);
  }

  /**
   * Count the error of a request if it says that the client is not authenticated. A key that was valid before,
   * and is revoked or has expired, does not pass any more.
   */
  noteError(error: unknown, address: string | undefined, key = ''): void {
    if (!(error instanceof AppError) || error.code !== 'unauthenticated') return;
    this.#goodKeys.delete(hashKey(key));
    for (const network of clientNetworksOf(address)) this.#count(network);
  }

  #count({ name, clients }: ClientNetwork): void {
    const { allowance, clock } = this.options;
    const now = clock();
    const before = this.#watched.get(name);
    const hasExpired = before === undefined || before.endsAt <= now;
    const failures = hasExpired ? { count: 0, endsAt: now + allowance.windowMs } : before;
    failures.count += 1;
    this.#watched.set(name, failures);
    if (failures.count >= allowance.count * clients) this.#block(name, failures.endsAt, now);
  }

  #block(name: string, endsAt: number, now: number): void {
    if (this.#blocked.size >= MAX_BLOCKED) this.#forgetEnded(now);
    if (this.#blocked.size >= MAX_BLOCKED) return;
    this.#watched.delete(name);
    this.#blocked.set(name, endsAt);
    this.#firstEndsAt = Math.min(this.#firstEndsAt, endsAt);
  }

  // Run only once at least one block can be over, not for each failure that finds no room.
  #forgetEnded(now: number): void {
    if (now < this.#firstEndsAt) return;
    for (const [name, endsAt] of this.#blocked) if (endsAt <= now) this.#blocked.delete(name);
    this.#firstEndsAt = Math.min(...this.#blocked.values());
  }
}

/** The network that an address belongs to. */
export interface ClientNetwork {
  readonly name: string;
  /** It may have the failures of this many single clients. */
  readonly clients: number;
}

// Far more than the clients that get their key wrong at the same time by chance.
const WIDE_NETWORK_CLIENTS = 16;

/**
 * The networks that a client's failures count for, the narrowest first. For IPv4 its address and its /24, the
 * smallest that is routed. For IPv6 its /64, the least that a provider gives to one customer, and its /48,
 * the most (RFC 6177). All invalid addresses share one network.
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
