import type { UsageRecorder } from '../accounts/account-quota';
import type { AccountId } from '../domain/account';
import { ANSWER_BYTES } from '../domain/usage';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import {
  answerRequest,
  type ClaimRequestReply,
  claimRequest,
  forgetRequest,
  keepRequestUntil,
  releaseRequest,
  requireHolder,
} from './redis-idempotency-store.script';

/** Identifies a request with an Idempotency-Key. */
export interface RequestKey {
  readonly accountId: AccountId;
  /** A digest of the key and of where it was used. */
  readonly name: string;
}

/**
 * Ids and times of new objects come from these, so that a retry that takes the claim over makes the same
 * objects.
 */
export interface Claim {
  readonly seed: string;
  /** When it was claimed first. Milliseconds since the Unix epoch. */
  readonly claimedAt: number;
}

/**
 * - `claimed`: the caller has the request, for the first time or after one that broke off.
 * - `running`: another request is being processed.
 * - `answered`: it has this response.
 * - `other`: the key was used for another request.
 */
export type ClaimResult =
  | ({ readonly state: 'claimed' } & Claim)
  | { readonly state: 'answered'; readonly answer: string }
  | { readonly state: 'running' | 'other' };

/** How long a key is remembered. */
const KEPT_MS = 24 * 60 * 60 * 1_000;

/**
 * After this time a retry may take a request over. Each step of a request fails within two seconds when Redis
 * does not respond. If one takes longer all the same, both make the same object, which is created once.
 */
const LEASE_MS = 10_000;

/** Remembers the requests with an Idempotency-Key, and their responses. */
export class IdempotencyStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly usageRecorder?: UsageRecorder,
  ) {}

  /**
   * @param seed for new objects, if this is the first claim.
   * @param now the time of new objects, if it is. It decides nothing.
   */
  claim({ accountId, name }: RequestKey, fingerprint: string, seed: string, now: number): Step<ClaimResult> {
    const step = claimRequest({
      account: accountId,
      digest: name,
      fingerprint,
      seed,
      claimedAt: now,
      leaseMs: LEASE_MS,
      keptMs: KEPT_MS,
    });
    return mapReply(step, resultOf);
  }

  /**
   * A step that fails, and keeps those after it from running, when another request has taken the claim over: that one makes,
   * or has made, the same objects.
   *
   * @param seed that the request claimed it with.
   */
  requireHolder({ accountId, name }: RequestKey, seed: string): Step<void> {
    return requireHolder({ account: accountId, digest: name, seed });
  }

  /** Remember it for a day after that time as well: what its response tells of happens then. */
  keepUntil({ accountId, name }: RequestKey, at: number): Step<void> {
    return keepRequestUntil({ account: accountId, digest: name, at: at + KEPT_MS });
  }

  /** The first response stays. */
  async answer({ accountId, name }: RequestKey, answer: string): Promise<void> {
    await answerRequest({ account: accountId, digest: name, answer, keptMs: KEPT_MS })(this.redis);
    this.#note(accountId, ANSWER_BYTES + answer.length);
  }

  /**
   * Let the next request try at once, unless another one has taken the claim over. The seed stays: an object may have been made.
   *
   * @param seed that the request claimed it with.
   */
  async release({ accountId, name }: RequestKey, seed: string): Promise<void> {
    await releaseRequest({ account: accountId, digest: name, seed, keptMs: KEPT_MS })(this.redis);
    this.#note(accountId, ANSWER_BYTES);
  }

  /** Only for a claim without a made object: the next one is the first. @param seed as above. */
  async forget({ accountId, name }: RequestKey, seed: string): Promise<void> {
    await forgetRequest({ account: accountId, digest: name, seed })(this.redis);
  }

  #note(accountId: AccountId, bytes: number): void {
    this.usageRecorder?.note(accountId, 'answers', bytes, undefined, KEPT_MS);
  }
}

function resultOf({ claim, answer, isOther }: ClaimRequestReply): ClaimResult {
  if (claim) return { state: 'claimed', seed: claim.seed, claimedAt: claim.claimedAt };
  if (answer !== undefined) return { state: 'answered', answer };
  return { state: isOther ? 'other' : 'running' };
}
