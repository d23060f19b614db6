import type { AccountId } from '../domain/account';
import { keys } from '../domain/keys';
import { ANSWER_BYTES } from '../domain/usage';
import { type RedisClient, throwStorageErrors } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';

/** What a request with an Idempotency-Key is known by. */
export interface Slot {
  readonly accountId: AccountId;
  /** A digest of the key and of where it was used. */
  readonly name: string;
}

/** What is made under a claim is made from these, so that a retry that takes it over makes the same. */
export interface Claim {
  readonly seed: string;
  /** When it was claimed first. Milliseconds since the Unix epoch. */
  readonly claimedAt: number;
}

/**
 * - `claimed`: the request is yours, be it the first time or after one that broke off.
 * - `running`: another request is at it.
 * - `answered`: it was answered, with this.
 * - `other`: the key was used for another request.
 */
export type ClaimResult =
  | ({ readonly state: 'claimed' } & Claim)
  | { readonly state: 'answered'; readonly answer: string }
  | { readonly state: 'running' | 'other' };

/** How long a key is remembered. */
export const KEPT_MS = 24 * 60 * 60 * 1_000;

/**
 * How long a request may take before a retry may take it over. Each of its steps fails within two seconds when Redis
 * does not answer. Should one take longer all the same, both make the same thing, which is made once.
 */
const LEASE_MS = 10_000;

// ARGV: fingerprint, now, leased_until, seed, how long to keep it.
const CLAIM = defineScript(`
  local known = redis.call('HMGET', KEYS[1], 'fingerprint', 'answer', 'leased_until', 'seed', 'claimed_at')
  if not known[1] then
    redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'claimed_at', ARGV[2], 'leased_until', ARGV[3], 'seed', ARGV[4])
    redis.call('PEXPIRE', KEYS[1], ARGV[5])
    return {'claimed', ARGV[4], ARGV[2]}
  end
  if known[1] ~= ARGV[1] then return {'other'} end
  if known[2] then return {'answered', known[2]} end
  if tonumber(known[3]) > tonumber(ARGV[2]) then return {'running'} end
  redis.call('HSET', KEYS[1], 'leased_until', ARGV[3])
  return {'claimed', known[4], known[5]}`);

type Reply = ['claimed', string, string] | ['answered', string] | ['running' | 'other'];

/** Remembers which requests were made under an Idempotency-Key, and how they were answered. */
export class IdempotencyStore {
  readonly #keyOf = ({ accountId, name }: Slot) => keys.idempotency(accountId, name);

  constructor(
    private readonly redis: RedisClient,
    private readonly onStored: (accountId: AccountId, bytes: number) => void = () => {},
  ) {}

  /** @param seed for what is made, if this is the first claim. */
  async claim(slot: Slot, fingerprint: string, seed: string, now: number): Promise<ClaimResult> {
    const args = [fingerprint, now, now + LEASE_MS, seed, KEPT_MS];
    const reply = (await CLAIM(this.redis, [this.#keyOf(slot)], args)) as Reply;
    switch (reply[0]) {
      case 'claimed':
        return { state: 'claimed', seed: reply[1], claimedAt: Number(reply[2]) };
      case 'answered':
        return { state: 'answered', answer: reply[1] };
      case 'running':
      case 'other':
        return { state: reply[0] };
    }
  }

  /** The first answer stays. */
  async answer(slot: Slot, answer: string): Promise<void> {
    const key = this.#keyOf(slot);
    await this.redis.multi().hsetnx(key, 'answer', answer).pexpire(key, KEPT_MS).exec();
    this.onStored(slot.accountId, ANSWER_BYTES + answer.length);
  }

  /** Lets the next one try at once. The seed stays: something may have been made. */
  async release(slot: Slot): Promise<void> {
    const key = this.#keyOf(slot);
    await this.redis.multi().hset(key, 'leased_until', '0').pexpire(key, KEPT_MS).exec();
    this.onStored(slot.accountId, ANSWER_BYTES);
  }

  /** Only for a claim under which nothing was made: the next one is the first. */
  async forget(slot: Slot): Promise<void> {
    await this.redis.unlink(this.#keyOf(slot));
  }
}

throwStorageErrors(IdempotencyStore);
