import type { AccountId } from '../domain/account';
import { keys } from '../domain/keys';
import { ANSWER_BYTES } from '../domain/usage';
import type { RedisClient } from '../platform/redis-connect';
import { LATE } from '../platform/redis-deadline';
import { defineScript, type ScriptTarget } from '../platform/redis-script';

/** Identifies a request with an Idempotency-Key. */
export interface Slot {
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
export const KEPT_MS = 24 * 60 * 60 * 1_000;

/**
 * After this time a retry may take a request over. Each step of a request fails within two seconds when Redis
 * does not respond. If one takes longer all the same, both make the same object, which is created once.
 */
const LEASE_MS = 10_000;

// The holder is the request that has claimed it last. Until when it holds the claim is by the clock of Redis, which all
// processes share. ARGV: fingerprint, now, how long the lease is, seed, how long to keep it.
const CLAIM = defineScript(`
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local leased_until = string.format('%d', now + ARGV[3])
  local known = redis.call('HMGET', KEYS[1], 'fingerprint', 'answer', 'leased_until', 'seed', 'claimed_at')
  if not known[1] then
    redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'claimed_at', ARGV[2], 'leased_until', leased_until, 'seed', ARGV[4], 'holder', ARGV[4])
    redis.call('PEXPIRE', KEYS[1], ARGV[5])
    return {'claimed', ARGV[4], ARGV[2]}
  end
  if known[1] ~= ARGV[1] then return {'other'} end
  if known[2] then return {'answered', known[2]} end
  if tonumber(known[3]) > now then return {'running'} end
  redis.call('HSET', KEYS[1], 'leased_until', leased_until, 'holder', ARGV[4])
  return {'claimed', known[4], known[5]}`);

// ARGV: seed of the request.
const REQUIRE_HOLDER = defineScript(`
  if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then
    return redis.error_reply('${LATE} Another request has taken the Idempotency-Key over.')
  end`);

// One that has lost the claim changes nothing: another request runs, or was answered. ARGV: seed of the request, how long to
// keep it.
const RELEASE = defineScript(`
  if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return end
  redis.call('HSET', KEYS[1], 'leased_until', '0')
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`);

// ARGV: seed of the request.
const FORGET = defineScript(
  `if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then redis.call('UNLINK', KEYS[1]) end`,
);

// It may be kept for longer already. ARGV: how long to keep it, answer.
const ANSWER = defineScript(`
  redis.call('HSETNX', KEYS[1], 'answer', ARGV[2])
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end`);

// By the clock of Redis. ARGV: until when.
const KEEP_UNTIL = defineScript(`
  local time = redis.call('TIME')
  local kept = tonumber(ARGV[1]) - time[1] * 1000 - math.floor(time[2] / 1000)
  local present = redis.call('PTTL', KEYS[1])
  if present ~= -2 and present < kept then redis.call('PEXPIRE', KEYS[1], string.format('%d', kept)) end`);

type Reply = ['claimed', string, string] | ['answered', string] | ['running' | 'other'];

/** Remembers the requests with an Idempotency-Key, and their responses. */
export class IdempotencyStore {
  readonly #keyOf = ({ accountId, name }: Slot) => keys.idempotency(accountId, name);

  constructor(
    private readonly redis: RedisClient,
    private readonly onStored: (accountId: AccountId, bytes: number) => void = () => {},
  ) {}

  /**
   * @param seed for new objects, if this is the first claim.
   * @param now the time of new objects, if it is. It decides nothing.
   */
  async claim(
    slot: Slot,
    fingerprint: string,
    seed: string,
    now: number,
    target: ScriptTarget = this.redis,
  ): Promise<ClaimResult> {
    const args = [fingerprint, now, LEASE_MS, seed, KEPT_MS];
    const reply = (await CLAIM(target, [this.#keyOf(slot)], args)) as Reply;
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

  /**
   * A step that fails, and keeps those after it from running, when another request has taken the claim over: that one makes,
   * or has made, the same objects.
   *
   * @param seed that the request claimed it with.
   */
  async requireHolder(slot: Slot, seed: string, target: ScriptTarget = this.redis): Promise<void> {
    await REQUIRE_HOLDER(target, [this.#keyOf(slot)], [seed]);
  }

  /** Remember it for a day after that time as well: what its response tells of happens then. */
  async keepUntil(slot: Slot, at: number, target: ScriptTarget = this.redis): Promise<void> {
    await KEEP_UNTIL(target, [this.#keyOf(slot)], [at + KEPT_MS]);
  }

  /** The first response stays. */
  async answer(slot: Slot, answer: string): Promise<void> {
    await ANSWER(this.redis, [this.#keyOf(slot)], [KEPT_MS, answer]);
    this.onStored(slot.accountId, ANSWER_BYTES + answer.length);
  }

  /**
   * Let the next request try at once, unless another one has taken the claim over. The seed stays: an object may have been made.
   *
   * @param seed that the request claimed it with.
   */
  async release(slot: Slot, seed: string): Promise<void> {
    await RELEASE(this.redis, [this.#keyOf(slot)], [seed, KEPT_MS]);
    this.onStored(slot.accountId, ANSWER_BYTES);
  }

  /** Only for a claim without a made object: the next one is the first. @param seed as above. */
  async forget(slot: Slot, seed: string): Promise<void> {
    await FORGET(this.redis, [this.#keyOf(slot)], [seed]);
  }
}
