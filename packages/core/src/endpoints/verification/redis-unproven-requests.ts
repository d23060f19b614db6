import { createHash } from 'node:crypto';
import type { AccountId } from '../../domain/account';
import { keys } from '../../domain/keys';
import type { RedisClient } from '../../platform/redis-connect';
import { ALL, takeOne } from '../../platform/redis-take-one';

/**
 * So many requests a minute go to one host that has not proved that it wants them, of those so many for one account, and
 * come from one account to all hosts. Without a bound a client could have thousands of them sent to a server that never
 * asked for one. That of the account also holds for many names of one server. The share leaves room for other accounts.
 */
export const UNPROVEN_A_MINUTE = { ofHost: 30, ofAccountAtHost: 10, ofAccount: 60 } as const;
const MINUTE_MS = 60_000;
const HOST_DIGEST_CHARACTERS = 22;

/**
 * Counts the requests to hosts that have not proved that they want any: those that verify a webhook, fetch the access token
 * for that, or ask a contact to confirm, retries included.
 */
export class UnprovenRequests {
  constructor(private readonly redis: RedisClient) {}

  /** Count one that is about to be sent. @returns how long to wait if it is one too many, in milliseconds, else 0. */
  async take(accountId: AccountId, host: string): Promise<number> {
    const { ofHost, ofAccountAtHost, ofAccount } = UNPROVEN_A_MINUTE;
    const ofThisAccount = keys.unprovenRequests(accountId);
    const waitMs = await takeOne(this.redis, ofThisAccount, { [ALL]: ofAccount }, MINUTE_MS);
    if (waitMs > 0) return waitMs;
    const most = { [ALL]: ofHost, [accountId]: ofAccountAtHost };
    return await takeOne(this.redis, keys.unprovenRequests(digestOfHost(host)), most, MINUTE_MS);
  }
}

/** Names a host in a key. A name with a dot at its end is the same host. */
export function digestOfHost(host: string): string {
  const name = host.replace(/\.$/, '');
  return createHash('sha256').update(name).digest('base64url').slice(0, HOST_DIGEST_CHARACTERS);
}
