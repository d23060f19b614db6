import { setTimeout as sleep } from 'node:timers/promises';
import { type AccessToken, END_MARGIN_MS, type TokenVersion } from '../domain/access-token';
import type { EndpointId } from '../domain/endpoint';
import type { Emit } from '../domain/signal';
import { hostOf } from '../domain/target-url';
import { lacksProof } from '../domain/verification';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { UnprovenRequests } from '../endpoints/verification/redis-unproven-requests';
import { createLru } from '../platform/caches';
import {
  type FetchedToken,
  fetchToken,
  type OAuth2Endpoint,
  type TokenFailure,
  type TokenRequestParts,
  tokenTimeoutOf,
} from './fetch-token';
import type { AccessTokenStore } from './redis-access-token-store';

export interface AccessTokensParts extends TokenRequestParts {
  readonly accessTokenStore: AccessTokenStore;
  readonly unprovenRequests: UnprovenRequests;
  readonly endpointStore: EndpointStore;
  /** Unique each time. */
  readonly newTokenId: () => string;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  readonly emit: Emit;
}

export type FoundToken =
  | {
      readonly kind: 'token';
      readonly token: AccessToken;
      /** Whether it was not in this process' memory. */
      readonly wasAwaited?: boolean;
    }
  /** This attempt asked for a token, and got none. */
  | { readonly kind: 'failed'; readonly failure: TokenFailure; readonly until: number }
  /** There is no token, and no process asks for one before this time. */
  | { readonly kind: 'paused'; readonly until: number }
  /** The token request could not be sent. The authorization server is not the cause. */
  | { readonly kind: 'unsent'; readonly error: string }
  | { readonly kind: 'interrupted' };

/** In this process. Milliseconds since the Unix epoch. */
interface Remembered {
  readonly changedAt: number;
  readonly found: Extract<FoundToken, { kind: 'token' | 'paused' }>;
  readonly until: number;
}

/**
 * A token is used for this long without reading Redis again. After that, a process also knows if a receiver refused the
 * token at another process, or if the token was replaced.
 */
const REMEMBERED_MS = 2_000;
const REMEMBERED_ENDPOINTS = 10_000;
/** How often to check whether the process that fetches a token has got it. */
const LOOK_EVERY_MS = 50;
/** Added to the time of a token request, for the work around it. */
const LOCK_MARGIN_MS = 5_000;
/** A token is fetched again when a tenth to a fifth of the time for which attempts take it is left, five minutes at most. */
const REFRESH_SHARE = 0.1;
const MAX_REFRESH_MS = 300_000;

/**
 * The access tokens that attempts carry. In memory for a moment, in Redis for all workers, and fetched by one of them:
 * the others wait for it, or go on with the one before while that is valid.
 *
 * A token that lives no longer than `END_MARGIN_MS` is taken only by attempts that waited for this very request. Every later one
 * asks for another.
 */
export class AccessTokens {
  readonly #remembered = createLru<EndpointId, Remembered>(REMEMBERED_ENDPOINTS);
  readonly #underWay = new Map<string, Promise<FoundToken>>();
  readonly #closing = new AbortController();

  constructor(private readonly parts: AccessTokensParts) {}

  /**
   * If a token request fails, one attempt fails with it. The others that waited for the same request get a pause.
   *
   * @throws Error of Redis when it can't be reached.
   */
  async find(endpoint: OAuth2Endpoint, abortSignal: AbortSignal): Promise<FoundToken> {
    const { changedAt } = endpoint.auth;
    const known = this.#remembered.get(endpoint.id);
    if (known?.changedAt === changedAt && known.until > this.parts.clock()) return known.found;
    const name = `${endpoint.id} ${changedAt}`;
    const underWay = this.#underWay.get(name);
    if (underWay) return asAwaited(asPause(await untilAborted(underWay, abortSignal)));
    const finding = this.#find(endpoint).finally(() => this.#underWay.delete(name));
    // When it fails, perhaps nobody waits for it any more.
    finding.catch(() => {});
    this.#underWay.set(name, finding);
    return asAwaited(await untilAborted(finding, abortSignal));
  }

  /** Note that the receiver refused it. The next attempts ask for another one. */
  async refuse(endpoint: OAuth2Endpoint, version: TokenVersion): Promise<void> {
    await this.parts.accessTokenStore.refuse(endpoint, version);
    this.#remembered.delete(endpoint.id);
  }

  /** Break off the requests that are under way. */
  close(): void {
    this.#closing.abort();
  }

  async #find(endpoint: OAuth2Endpoint): Promise<FoundToken> {
    const { accessTokenStore, newTokenId, attemptTimeoutMs, clock } = this.parts;
    const lock = { owner: newTokenId(), ms: tokenTimeoutOf(endpoint, attemptTimeoutMs) + LOCK_MARGIN_MS };
    // By then the lock of a process that died has ended, and this process or another one has taken it.
    const waitsUntil = clock() + 2 * lock.ms;
    for (let looks = 0; ; looks += 1) {
      const answer = await accessTokenStore.ask(endpoint, lock, clock());
      if (answer.kind === 'token') return this.#remember(endpoint, answer, answer.token.refreshAt);
      if (answer.kind === 'paused') return this.#remember(endpoint, answer, answer.until);
      if (answer.kind === 'fetch') {
        const isWanted = looks === 0 || (await this.#isWanted(endpoint));
        if (isWanted) return await this.#fetch(endpoint, lock.owner, answer);
        await accessTokenStore.unlock(endpoint, lock.owner);
        return { kind: 'interrupted' };
      }
      if (this.#closing.signal.aborted) return { kind: 'interrupted' };
      if (clock() >= waitsUntil) return { kind: 'paused', until: clock() + LOOK_EVERY_MS };
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** While this waited for another process, the endpoint may have been deleted or disabled, or have got another secret. */
  async #isWanted({ accountId, id, auth }: OAuth2Endpoint): Promise<boolean> {
    const now = await this.parts.endpointStore.find(accountId, id);
    return now?.status === 'enabled' && now.auth?.type === 'oauth2' && now.auth.changedAt === auth.changedAt;
  }

  #remember<Found extends Remembered['found']>(endpoint: OAuth2Endpoint, found: Found, until: number): Found {
    const { changedAt } = endpoint.auth;
    const now = this.parts.clock();
    // Another process fetches the next token. Check soon whether it is there.
    const notLonger = Math.max(until, now + LOOK_EVERY_MS);
    this.#remembered.set(endpoint.id, { changedAt, found, until: Math.min(notLonger, now + REMEMBERED_MS) });
    return found;
  }

  async #fetch(
    endpoint: OAuth2Endpoint,
    owner: string,
    { present, isUsable }: { readonly present: AccessToken | undefined; readonly isUsable: boolean },
  ): Promise<FoundToken> {
    const { accessTokenStore, clock } = this.parts;
    const waitMs = await this.#takeRequest(endpoint);
    if (waitMs > 0) {
      await accessTokenStore.unlock(endpoint, owner);
      const until = clock() + waitMs;
      return this.#remember(endpoint, { kind: 'paused', until }, until);
    }
    const startedAt = clock();
    const fetched = unlessExpired(await this.#ask(endpoint), clock() - startedAt);
    if (this.#closing.signal.aborted && fetched.kind !== 'token') {
      await accessTokenStore.unlock(endpoint, owner);
      return { kind: 'interrupted' };
    }
    this.#announce(endpoint, fetched, clock() - startedAt);
    if (fetched.kind === 'token') return await this.#keep(endpoint, owner, fetched, startedAt, present);
    if (fetched.kind === 'unsent') {
      await accessTokenStore.unlock(endpoint, owner);
      return fetched;
    }
    const openUntil = await accessTokenStore.fail(endpoint, owner, fetched.retryAfterMs, clock());
    if (present && isUsable && present.expiresAt > clock()) return { kind: 'token', token: present };
    const until = Math.max(openUntil, clock());
    this.#remember(endpoint, { kind: 'paused', until }, until);
    return { kind: 'failed', failure: fetched.failure, until };
  }

  /** The proof of a webhook covers its token URL too. @returns how long its host has to be left alone, in milliseconds. */
  async #takeRequest(endpoint: OAuth2Endpoint): Promise<number> {
    if (!lacksProof(endpoint)) return 0;
    return await this.parts.unprovenRequests.take(
      endpoint.accountId,
      hostOf(new URL(endpoint.auth.tokenUrl)),
    );
  }

  async #ask(endpoint: OAuth2Endpoint): Promise<FetchedToken> {
    return await fetchToken(this.parts, endpoint, this.#closing.signal);
  }

  async #keep(
    endpoint: OAuth2Endpoint,
    owner: string,
    { token, lifetimeMs }: Extract<FetchedToken, { kind: 'token' }>,
    askedAt: number,
    present: AccessToken | undefined,
  ): Promise<FoundToken> {
    const { accessTokenStore, newTokenId, random, clock } = this.parts;
    const now = clock();
    // At the earliest: it was made after it was asked for.
    const expiresAt = askedAt + Math.floor(lifetimeMs);
    const takenMs = Math.max(lifetimeMs - END_MARGIN_MS, 0);
    const refreshMs = Math.min(
      takenMs * REFRESH_SHARE * (1 + random()),
      MAX_REFRESH_MS * (0.5 + random() / 2),
    );
    const kept: AccessToken = {
      // A server may give the same one again.
      version: present?.token === token ? present.version : newTokenId(),
      token,
      refreshAt: Math.floor(askedAt + takenMs - refreshMs),
      expiresAt,
    };
    await accessTokenStore.keep(endpoint, owner, kept, now);
    const found = { kind: 'token', token: kept } as const;
    return expiresAt - now > END_MARGIN_MS ? this.#remember(endpoint, found, kept.refreshAt) : found;
  }

  #announce({ id: endpointId, accountId }: OAuth2Endpoint, fetched: FetchedToken, durationMs: number): void {
    const facts = { accountId, endpointId, durationMs };
    const { emit } = this.parts;
    if (fetched.kind === 'token') return emit({ name: 'token.requested', ...facts, result: 'granted' });
    if (fetched.kind === 'unsent') return emit({ name: 'token.requested', ...facts, result: 'unsent' });
    const { reason, status, code } = fetched.failure;
    emit({
      name: 'token.requested',
      ...facts,
      result: reason,
      ...(status === undefined ? {} : { responseStatus: status }),
      ...(code === undefined ? {} : { error: code }),
    });
  }
}

function asAwaited(found: FoundToken): FoundToken {
  return found.kind === 'token' ? { ...found, wasAwaited: true } : found;
}

function unlessExpired(fetched: FetchedToken, tookMs: number): FetchedToken {
  if (fetched.kind !== 'token' || fetched.lifetimeMs > tookMs) return fetched;
  return { kind: 'failed', failure: { reason: 'expired', status: 200 }, retryAfterMs: 0 };
}

function asPause(found: FoundToken): FoundToken {
  return found.kind === 'failed' ? { kind: 'paused', until: found.until } : found;
}

async function untilAborted(finding: Promise<FoundToken>, signal: AbortSignal): Promise<FoundToken> {
  if (signal.aborted) return { kind: 'interrupted' };
  return await new Promise((resolve, reject) => {
    const onAbort = () => resolve({ kind: 'interrupted' });
    signal.addEventListener('abort', onAbort, { once: true });
    finding.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
