import { lookup, Resolver } from 'node:dns/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { isInternalName } from '../../domain/target-url';
import { createLru } from '../../platform/caches';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
  /** How long the address may be cached, in seconds. */
  readonly ttlSeconds: number;
}

/**
 * Finds a name's addresses, at least one.
 *
 * @throws UnresolvedNameError
 */
export type ResolveName = (name: string) => Promise<readonly ResolvedAddress[]>;

export interface ResolveNameOptions {
  /** Name servers, as `address:port`. Default: the system's. */
  readonly servers?: readonly string[];
  /** For one query to one server. Default: 2 s. */
  readonly queryTimeoutMs?: number;
}

// A name server that does not respond is asked twice; the delivery's own deadline may well be sooner.
const QUERY_TRIES = 2;
const QUERY_TIMEOUT_MS = 2_000;
// RFC 8305's resolution delay: once there are addresses of one family, the other family gets this much
// longer. Some name servers drop queries for AAAA, and each first delivery would wait seconds for them.
const OTHER_FAMILY_DELAY_MS = 50;
// For each family. A response has room for thousands of addresses, and a hostile name server could give as
// many for each of many names: all are kept in memory and checked for each connection. Nothing connects to the
// ones left out.
const MAX_ADDRESSES = 16;
// The system gives no lifetime for entries of its hosts file.
const SYSTEM_TTL_SECONDS = 5;

/**
 * Ask the name servers, not the system: the system's lookup holds one of four threads while it waits, so a
 * few receivers with a slow name server would keep all others waiting. Internal names, which only the
 * system knows, are the exception.
 */
export async function lookUpName(
  name: string,
  options: ResolveNameOptions = {},
): Promise<readonly ResolvedAddress[]> {
  try {
    return await (isInternalName(name) ? resolveBySystem(name) : resolveByServers(name, options));
  } catch (error) {
    throw new UnresolvedNameError(name, codeOf(error), error);
  }
}

/** A name's addresses could not be found. */
export class UnresolvedNameError extends Error {
  override readonly name = 'UnresolvedNameError';
  /**
   * The product's own code: a resolver's code may look like another failure, such as ECONNREFUSED when it was
   * the name server that refused.
   */
  readonly code = 'ERR_UNRESOLVED_NAME';

  /** @param why the resolver's code, such as ENOTFOUND. */
  constructor(name: string, why: string, cause?: unknown) {
    super(`${name} could not be resolved (${why}).`, { cause });
  }
}

async function resolveBySystem(name: string): Promise<readonly ResolvedAddress[]> {
  const found = await lookup(name, { all: true, verbatim: true });
  return found.map(({ address, family }) => toResolved(address, family === 6 ? 6 : 4, SYSTEM_TTL_SECONDS));
}

async function resolveByServers(
  name: string,
  options: ResolveNameOptions,
): Promise<readonly ResolvedAddress[]> {
  const resolver = newResolver(options);
  const queries = [resolver.resolve6(name, { ttl: true }), resolver.resolve4(name, { ttl: true })] as const;
  const answers = Promise.allSettled(queries);
  await Promise.race([answers, firstFound(queries)]);
  // No late address is checked, so none must come.
  resolver.cancel();
  const [ipv6, ipv4] = await answers;
  const found = [
    ...recordsOf(ipv6).map(({ address, ttl }) => toResolved(address, 6, ttl)),
    ...recordsOf(ipv4).map(({ address, ttl }) => toResolved(address, 4, ttl)),
  ];
  if (found.length > 0) return found;
  throw failureOf([ipv4, ipv6]);
}

/** Resolves a little after the first query that found something, or when none did. */
async function firstFound(queries: readonly Promise<unknown>[]): Promise<void> {
  const hasFound = await Promise.any(queries).then(
    () => true,
    () => false,
  );
  if (hasFound) await wait(OTHER_FAMILY_DELAY_MS, undefined, { ref: false });
}

// A new one each time: it sees a changed resolv.conf, and has no cache of its own, which would not know the
// limits here.
function newResolver({ servers, queryTimeoutMs = QUERY_TIMEOUT_MS }: ResolveNameOptions): Resolver {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: QUERY_TRIES });
  if (servers) resolver.setServers(servers);
  return resolver;
}

function recordsOf<T>(result: PromiseSettledResult<T[]>): readonly T[] {
  return result.status === 'fulfilled' ? result.value.slice(0, MAX_ADDRESSES) : [];
}

/** Having no record of one kind (ENODATA) is usual, so the other failure says more. */
function failureOf(results: readonly PromiseSettledResult<unknown>[]): unknown {
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  return failures.find((error) => codeOf(error) !== 'ENODATA') ?? failures[0];
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? 'ENODATA';
}

function toResolved(address: string, family: 4 | 6, ttlSeconds: number): ResolvedAddress {
  return { address, family, ttlSeconds };
}

const CACHED_NAMES = 10_000;
// Whatever lifetime a record has, a receiver that moved is found after this time.
const MAX_TTL_SECONDS = 300;
const FAILURE_TTL_SECONDS = 30;

type Answer =
  | { readonly kind: 'found'; readonly addresses: readonly ResolvedAddress[] }
  | { readonly kind: 'failed'; readonly error: unknown };

interface Entry {
  readonly answer: Answer;
  /** As `now` gives it. */
  readonly expiresAt: number;
}

/**
 * Keeps a name's addresses for the lifetime of their DNS records, five minutes at most, and a failure for
 * half a minute. Concurrent callers share one lookup.
 */
export class NameCache {
  readonly #entries = createLru<string, Entry>(CACHED_NAMES);
  readonly #underWay = new Map<string, Promise<Answer>>();

  /** @param now milliseconds by a clock that never jumps, such as `steadyClock`. */
  constructor(
    private readonly ask: ResolveName,
    private readonly now: () => number,
  ) {}

  readonly resolveName: ResolveName = async (name) => {
    const answer = this.#answerKept(name) ?? (await (this.#underWay.get(name) ?? this.#askFor(name)));
    if (answer.kind === 'failed') throw answer.error;
    return answer.addresses;
  };

  #answerKept(name: string): Answer | undefined {
    const entry = this.#entries.get(name);
    return entry && this.now() < entry.expiresAt ? entry.answer : undefined;
  }

  #askFor(name: string): Promise<Answer> {
    const asked = settle(this.ask(name)).then((answer) => {
      this.#underWay.delete(name);
      this.#entries.set(name, { answer, expiresAt: this.now() + ttlSecondsOf(answer) * 1_000 });
      return answer;
    });
    this.#underWay.set(name, asked);
    return asked;
  }
}

async function settle(resolved: ReturnType<ResolveName>): Promise<Answer> {
  try {
    return { kind: 'found', addresses: await resolved };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

function ttlSecondsOf(answer: Answer): number {
  if (answer.kind === 'failed') return FAILURE_TTL_SECONDS;
  return Math.min(MAX_TTL_SECONDS, ...answer.addresses.map(({ ttlSeconds }) => ttlSeconds));
}
