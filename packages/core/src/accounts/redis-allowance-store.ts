import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { AccountId } from '../domain/account';
import { keys } from '../domain/keys';
import type { RedisClient } from '../platform/redis-connect';
import { isUnavailable } from '../platform/redis-errors';
import { takeAllowance } from './redis-allowance-store.script';

/** A window of time in which taken points are counted, and the points to take now. */
export interface Window {
  /** Absent: all keys of the account share it. */
  readonly apiKeyId: string | undefined;
  readonly windowMs: number;
  readonly points: number;
}

/** The state of a window over all processes. */
export interface Usage {
  /** With the points just taken. More than the allowance when that was too much. */
  readonly taken: number;
  readonly resetsInMs: number;
}

/**
 * Counts the points that API keys take, in fixed windows that start with the first request. One script counts
 * those of a key and of its account. While Redis is away each process counts in its own memory: no request
 * that needs Redis is served then, but nobody gets past the limit either.
 */
export class AllowanceStore {
  readonly #shared: SharedAllowances;
  readonly #inMemory = new Map<number, RateLimiterMemory>();

  constructor(redis: RedisClient) {
    this.#shared = new SharedAllowances(redis);
  }

  /** Take the points, and give the usage of each window, in their order. */
  async take(accountId: AccountId, windows: readonly Window[]): Promise<readonly Usage[]> {
    try {
      return await this.#shared.take(accountId, windows);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return await Promise.all(windows.map((window) => this.#takeInMemory(accountId, window)));
    }
  }

  async #takeInMemory(accountId: AccountId, window: Window): Promise<Usage> {
    const limiter = this.#inMemory.get(window.windowMs) ?? this.#memoryOf(window.windowMs);
    const name = keys.rateLimit(accountId, window.apiKeyId);
    // Unlike `consume` it returns how much was taken, instead of throwing.
    const { consumedPoints, msBeforeNext } = await limiter.penalty(name, window.points);
    return { taken: consumedPoints, resetsInMs: msBeforeNext };
  }

  #memoryOf(windowMs: number): RateLimiterMemory {
    const limiter = new RateLimiterMemory({ points: 1, duration: windowMs / 1_000 });
    this.#inMemory.set(windowMs, limiter);
    return limiter;
  }
}

/** Counts the points of all processes together. */
class SharedAllowances {
  constructor(private readonly redis: RedisClient) {}

  async take(accountId: AccountId, windows: readonly Window[]): Promise<Usage[]> {
    const names = windows.map(({ apiKeyId }) => keys.rateLimit(accountId, apiKeyId));
    const points = windows.map((window) => window.points);
    const lengths = windows.map(({ windowMs }) => windowMs);
    const found = await takeAllowance({ windows: names, points, lengths })(this.redis);
    return windows.map((_, i) => ({ taken: found[2 * i] ?? 0, resetsInMs: found[2 * i + 1] ?? 0 }));
  }
}
