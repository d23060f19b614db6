import { type BreakerState, decodeBreaker, decodeFailingSince } from '../../domain/breaker';
import type { EndpointId } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { mapReply } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import type { Guard } from '../../platform/redis-lua';
import { type AdmitAttemptReply, admitAttempt, stand, withdrawAttempt } from './redis-admission-store.script';

export interface AdmissionRequest {
  /** The most attempts within any second. */
  readonly rateLimit: number | undefined;
  /** The key that counts the attempt. It is unique, even among attempts that repeat it after a crash. */
  readonly attemptKey: string;
  /** Longer than any attempt: after this it no longer counts, because its worker died. Milliseconds. */
  readonly leaseMs: number;
  /**
   * Whether it was held or tried before: others do not overtake deliveries that are held for the rate limit.
   */
  readonly hasWaited: boolean;
}

export type AdmissionAnswer =
  | { readonly kind: 'admitted'; readonly isProbe: boolean }
  | { readonly kind: 'breaker_open'; readonly openUntil: number }
  | { readonly kind: 'rate_limited'; readonly nextInMs: number };

/** The state of everything that may hold an endpoint's deliveries back. */
export interface Standing {
  readonly breaker: BreakerState;
  /** How many attempts the rate limit allows now, and in how many milliseconds the next one. */
  readonly rate: { readonly free: number; readonly nextInMs: number };
  /** While it has no access token: until when nobody asks for one. Milliseconds since the Unix epoch. */
  readonly tokenPausedUntil?: number | undefined;
}

/** The keys that limit an endpoint's attempts, over all workers. They have the endpoint's hash tag. */
export function keysOfLimits(endpointId: EndpointId): readonly string[] {
  return [keys.breaker(endpointId), keys.recentAttempts(endpointId), keys.rateWaiting(endpointId)];
}

/**
 * Admits an attempt, in one step that takes everything or nothing: the circuit breaker's probe, and a share of the rate limit.
 *
 * An attempt counts for the rate limit until one second after its end. Since its request arrives before that
 * end, no second sees more arrivals than the limit, however long each request takes.
 */
export class AdmissionStore {
  constructor(private readonly redis: RedisClient) {}

  /** A guard: what comes after it runs only if it is admitted. */
  admit(endpointId: EndpointId, request: AdmissionRequest, now: number): Guard<AdmissionAnswer> {
    const { attemptKey: attempt, ...limits } = request;
    return mapReply(admitAttempt({ endpoint: endpointId, now, attempt, ...limits }), answerOf);
  }

  /**
   * Give back everything that an attempt was admitted with, when it was broken off and says nothing of the
   * receiver.
   */
  async withdraw(
    endpointId: EndpointId,
    { attemptKey, isProbe }: { readonly attemptKey: string | undefined; readonly isProbe: boolean },
    { failures, openUntil }: BreakerState,
    now: number,
  ): Promise<void> {
    await withdrawAttempt({
      endpoint: endpointId,
      attempt: attemptKey,
      wasProbe: isProbe,
      failures,
      openUntil,
      now,
    })(this.redis);
  }

  async stand(endpointId: EndpointId, rateLimit: number | undefined): Promise<Standing> {
    const found = await stand({ endpoint: endpointId, rateLimit })(this.redis);
    const { failures, openUntil, isProbing, free = Number.POSITIVE_INFINITY, nextInMs } = found;
    return {
      breaker: { failures, openUntil, ...(isProbing && { isProbing }) },
      rate: { free, nextInMs },
      tokenPausedUntil: found.pausedUntil === 0 ? undefined : found.pausedUntil,
    };
  }

  /** The breaker, and since when it fails, for messages to the account. */
  async readBreaker(
    endpointId: EndpointId,
  ): Promise<BreakerState & { readonly failingSince: number | undefined }> {
    const stored = await this.redis.get(keys.breaker(endpointId));
    return { ...decodeBreaker(stored), failingSince: decodeFailingSince(stored) };
  }

  /** Let the next attempt through, whatever the breaker's state was. */
  async closeBreaker(endpointId: EndpointId): Promise<void> {
    await this.redis.del(keys.breaker(endpointId));
  }

  /** No delivery waits for the rate limit any more: new ones need not queue behind others. */
  async endRateWait(endpointId: EndpointId): Promise<void> {
    await this.redis.del(keys.rateWaiting(endpointId));
  }

  /** Remove all keys of a deleted endpoint. */
  async remove(endpointId: EndpointId): Promise<void> {
    await this.redis.unlink(...keysOfLimits(endpointId), keys.accessToken(endpointId));
  }
}

function answerOf(reply: AdmitAttemptReply | undefined): AdmissionAnswer {
  if (reply === undefined) throw new TypeError('An attempt was neither admitted nor refused.');
  const { kind, isProbe, openUntil, nextInMs } = reply;
  switch (kind) {
    case 'admitted':
      return { kind, isProbe };
    case 'breaker_open':
      return { kind, openUntil };
    case 'rate_limited':
      return { kind, nextInMs };
  }
}
