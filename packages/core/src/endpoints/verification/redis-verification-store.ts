import type { AccountId } from '../../domain/account';
import { decodeAddress, type EndpointAddress, encodeAddress } from '../../domain/endpoint';
import { keys } from '../../domain/keys';
import { type Atomic, createAtomic } from '../../platform/redis-atomic';
import type { RedisClient } from '../../platform/redis-connect';
import { ALL, takeOne } from '../../platform/redis-take-one';
import { digestOfHost } from './redis-unproven-requests';
import { askForTry, claimDueTries, endTry } from './redis-verification-store.script';

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
    await askForTry({ endpoint: encodeAddress(address), at })(this.redis);
  }

  /**
   * Claim some tries that are due, for one caller. They are due again later, in case the caller fails.
   *
   * @param patienceMs how long it may wait to go to Redis together with other scripts.
   */
  async claimDue(now: number, most: number, patienceMs = 0): Promise<readonly ClaimedTry[]> {
    const claimedUntil = now + TRY_CLAIM_MS;
    const [claimed] = await this.atomic([claimDueTries({ now, most, claimedUntil })], patienceMs);
    return claimed.map((address) => ({ ...decodeAddress(address), claimedUntil }));
  }

  /** A try has ended. @param nextAt when the next one is due; one that was asked for meanwhile is due now. */
  async end(
    { claimedUntil, ...address }: ClaimedTry,
    nextAt: number | undefined,
    now: number,
  ): Promise<void> {
    await endTry({ endpoint: encodeAddress(address), claimedUntil, nextAt, now })(this.redis);
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
