import { lookup, Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { callbackify } from 'node:util';
import { createLru } from '../platform/caches';
import { type JudgeTarget, UnresolvedNameError } from './judge-target';
import { isInternalName } from './target-url';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
  /** How long the answer may be kept, in seconds. */
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

// A name server that does not answer is asked twice; the delivery's own deadline may well be sooner.
const QUERY_TRIES = 2;
const QUERY_TIMEOUT_MS = 2_000;
// RFC 8305's resolution delay: when there are addresses of one family, the other one's gets this long. Some name
// servers drop queries for AAAA, and each first delivery would wait seconds for them.
const OTHER_FAMILY_DELAY_MS = 50;
// Of each family. An answer has room for thousands, which somebody's name server could make of each of ever so many names:
// all are kept in memory and judged for each connection. What is left out is none that anybody connects to.
const MAX_ADDRESSES = 16;
// The system tells no lifetime for what stands in its hosts file.
const SYSTEM_TTL_SECONDS = 5;

/**
 * Asks the name servers, not the system: the system's look-up holds one of four threads while it waits, so a few
 * receivers with a slow name server would keep all the others waiting. Internal names, which only the system
 * knows, are the exception.
 */
export function createResolveName(options: ResolveNameOptions = {}): ResolveName {
  return async (name) => {
    try {
      return await (isInternalName(name) ? resolveBySystem(name) : resolveByServers(name, options));
    } catch (error) {
      throw new UnresolvedNameError(name, codeOf(error), error);
    }
  };
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
  // An address that would come later is none that anybody judges, so it does not come.
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

// A new one each time: it sees a changed resolv.conf, and has no cache of its own, which would not know our limits.
function newResolver({ servers, queryTimeoutMs = QUERY_TIMEOUT_MS }: ResolveNameOptions): Resolver {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: QUERY_TRIES });
  if (servers) resolver.setServers(servers);
  return resolver;
}

function recordsOf<T>(result: PromiseSettledResult<T[]>): readonly T[] {
  return result.status === 'fulfilled' ? result.value.slice(0, MAX_ADDRESSES) : [];
}

/** Having no record of one kind (ENODATA) is usual, so the other failure tells more. */
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
// However long a record says that it lives, a receiver that moved is found after this.
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
 * Keeps a name's addresses as long as their DNS records say, five minutes at most, and a failure for half a minute.
 * Whoever asks while the answer is under way gets the same one.
 *
 * @param now milliseconds by a clock that never jumps, such as `steadyClock`.
 */
export function cacheNames(resolveName: ResolveName, now: () => number): ResolveName {
  const entries = createLru<string, Entry>(CACHED_NAMES);
  const underWay = new Map<string, Promise<Answer>>();

  return async (name) => {
    const answer = answerKept(name) ?? (await (underWay.get(name) ?? ask(name)));
    if (answer.kind === 'failed') throw answer.error;
    return answer.addresses;
  };

  function answerKept(name: string): Answer | undefined {
    const entry = entries.get(name);
    return entry && now() < entry.expiresAt ? entry.answer : undefined;
  }

  function ask(name: string): Promise<Answer> {
    const asked = settle(resolveName(name)).then((answer) => {
      underWay.delete(name);
      entries.set(name, { answer, expiresAt: now() + ttlSecondsOf(answer) * 1_000 });
      return answer;
    });
    underWay.set(name, asked);
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

/**
 * A `lookup` for sockets that gives a name's addresses only if every one of them may be reached: a name with one
 * good and one bad address is bad. They are judged each time, whether the answer is new or was kept.
 */
export function createGuardedLookup(resolveName: ResolveName, judgeTarget: JudgeTarget): LookupFunction {
  const find = callbackify(findAllowed);

  return (name, options, callback) =>
    find(name, Number(options.family ?? 0), (error, addresses) => {
      const [first] = addresses ?? [];
      if (!first) callback(error, []);
      // Node asks for all of them, to try IPv6 and IPv4 side by side.
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });

  /** At least one. */
  async function findAllowed(name: string, family: number) {
    const resolved = await resolveName(name);
    for (const { address } of resolved) {
      const blocked = judgeTarget(name, address);
      if (blocked) throw blocked;
    }
    const wished = resolved.filter((found) => family === 0 || found.family === family);
    if (wished.length === 0) throw new UnresolvedNameError(name, 'ENODATA');
    return wished.map(toLookupAddress);
  }
}

function toLookupAddress({ address, family }: ResolvedAddress) {
  return { address, family };
}
