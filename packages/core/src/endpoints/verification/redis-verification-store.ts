import { z } from 'zod';
import type { AccountId } from '../../domain/account';
import { decodeAddress, type EndpointAddress, encodeAddress } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { type Atomic, createAtomic } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import { defineScript } from '../../platform/redis-script';
import { ALL, takeOne } from '../../platform/redis-take-one';
import { digestOfHost } from './redis-unproven-requests';

/** A try that one process may make now. */
export interface ClaimedTry extends EndpointAddress {
  /** Until then no other process begins one. Milliseconds since the Unix epoch. */
  readonly claimedUntil: number;
}

/** Longer than any try takes. After this time another process makes it, if this one died. */
export const TRY_CLAIM_MS = 20_000;

/** How many verifications of webhooks at one host may be requested in an hour: by one account, and by all together. */
export const ASKED_AN_HOUR = { ofAccount: 5, ofAll: 30 } as const;
const HOUR_MS = 3_600_000;

// The time always changes, so that whoever makes a try now sees at its end that another one is wanted. KEYS:
// due. ARGV: endpoint, when.
const ASK = defineScript(`
  local due = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 'inf')
  redis.call('ZADD', KEYS[1], string.format('%d', math.min(due - 1, tonumber(ARGV[2]))), ARGV[1])`);

// A try that was asked for while one is under way waits for its end. KEYS: due, under way. ARGV: now, how
// many, until when they are claimed.
const CLAIM_DUE = defineScript(`
  local claimed = {}
  for _, endpoint in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])) do
    local busy_until = tonumber(redis.call('ZSCORE', KEYS[2], endpoint) or '0')
    if busy_until > tonumber(ARGV[1]) then
      redis.call('ZADD', KEYS[1], string.format('%d', busy_until + 1), endpoint)
    else
      redis.call('ZADD', KEYS[1], ARGV[3], endpoint)
      redis.call('ZADD', KEYS[2], ARGV[3], endpoint)
      table.insert(claimed, endpoint)
    end
  end
  return claimed`);

// KEYS: due, under way. ARGV: endpoint, until when it was claimed, when the next try is due ('' for none),
// now.
const END = defineScript(`
  local endpoint, claimed = ARGV[1], tonumber(ARGV[2])
  if tonumber(redis.call('ZSCORE', KEYS[2], endpoint) or '0') ~= claimed then return end
  redis.call('ZREM', KEYS[2], endpoint)
  local due = tonumber(redis.call('ZSCORE', KEYS[1], endpoint) or '0')
  if due ~= claimed then
    if due > tonumber(ARGV[4]) then redis.call('ZADD', KEYS[1], ARGV[4], endpoint) end
  elseif ARGV[3] == '' then
    redis.call('ZREM', KEYS[1], endpoint)
  else
    redis.call('ZADD', KEYS[1], ARGV[3], endpoint)
  end`);

const addressesSchema = z.array(z.string().transform(decodeAddress));
const scheduleKeys = [keys.verificationsDue, keys.verificationsUnderWay];

/**
 * When the next try to verify each endpoint is due, over all processes, and which are under way. The endpoint's own
 * record decides whether there is anything to try: an entry too many does no harm.
 */
export class VerificationStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly atomic: Atomic = createAtomic(redis),
  ) {}

  /** Ask for a try, unless one is due before. */
  async ask(address: EndpointAddress, at: number): Promise<void> {
    await ASK(this.redis, [keys.verificationsDue], [encodeAddress(address), at]);
  }

  /**
   * Claim some tries that are due, for one caller. They are due again later, in case the caller fails.
   *
   * @param patienceMs how long it may wait to go to Redis along with other scripts.
   */
  async claimDue(now: number, most: number, patienceMs = 0): Promise<readonly ClaimedTry[]> {
    const claimedUntil = now + TRY_CLAIM_MS;
    const claimed: ClaimedTry[] = [];
    const args = [now, most, claimedUntil];
    await this.atomic(
      [
        async (target) => {
          const addresses = addressesSchema.parse(await CLAIM_DUE(target, scheduleKeys, args));
          claimed.push(...addresses.map((address) => ({ ...address, claimedUntil })));
        },
      ],
      patienceMs,
    );
    return claimed;
  }

  /** A try has ended. @param nextAt when the next one is due; one that was asked for meanwhile is due now. */
  async end(
    { claimedUntil, ...address }: ClaimedTry,
    nextAt: number | undefined,
    now: number,
  ): Promise<void> {
    await END(this.redis, scheduleKeys, [encodeAddress(address), claimedUntil, nextAt ?? '', now]);
  }

  /** No try of this endpoint is due any more. */
  async forget(address: EndpointAddress): Promise<void> {
    await this.redis.zrem(keys.verificationsDue, encodeAddress(address));
  }

  /** Count a verification that somebody asks for. @returns how long to wait if it is one too many, else 0. */
  async takeFromHost(accountId: AccountId, host: string): Promise<number> {
    const most = { [ALL]: ASKED_AN_HOUR.ofAll, [accountId]: ASKED_AN_HOUR.ofAccount };
    return await takeOne(this.redis, keys.requestedVerifications(digestOfHost(host)), most, HOUR_MS);
  }
}
