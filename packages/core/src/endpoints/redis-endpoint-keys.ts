import type { AccountId } from '../model/event';
import { keys } from '../model/keys';

/**
 * Keys of an account's endpoints, in the order in which the scripts know them. All have the account's hash tag, so each
 * change is one atomic script, in a Cluster too.
 */
export function endpointsKeys(accountId: AccountId): readonly string[] {
  return [
    keys.endpoints(accountId),
    keys.endpointIds(accountId),
    keys.endpointsVersion(accountId),
    keys.endpointUids(accountId),
    keys.subscriptions(accountId),
  ];
}

/**
 * Where the subscriptions note for which version of the account they hold. A change of what a subscription is takes another
 * name: what another version of this service has made is then made anew, and so is ours by that one.
 */
export const MADE_AT = 'version:2';

/**
 * The piece of script that each change of an account's endpoints begins with. It sets `version`, and `is_current`: whether
 * the subscriptions were those of the records until now, so that whoever changes both together may say so with `version`.
 * Else some process that knows no subscriptions has changed records, and the next reader makes them anew. Those of the first
 * endpoint of an account are current by themselves, whatever an erasure by such a process has left.
 *
 * A version must never come back: were it counted from 0 again once an account is erased, what a process remembers of the
 * one before would be taken for the one after. So it starts at the time, and no account changes more often than that runs.
 */
export const COUNT_UP = `
  local before = redis.call('GET', KEYS[3])
  local is_current = before and redis.call('HGET', KEYS[5], '${MADE_AT}') == before
  if not before and redis.call('ZCARD', KEYS[2]) == 0 then
    redis.call('UNLINK', KEYS[5])
    is_current = true
  end
  redis.call('SET', KEYS[3], redis.call('TIME')[1], 'NX')
  redis.call('INCR', KEYS[3])
  local version = redis.call('GET', KEYS[3])`;
