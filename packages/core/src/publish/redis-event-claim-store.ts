import type { AccountId } from '../domain/account';
import { type AcceptedEvent, type EventId, publishedAtOf } from '../domain/event';
import { keys } from '../domain/keys';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript, type ScriptTarget } from '../platform/redis-script';

/**
 * - `open`: the id belongs to this content, and no request has yet said that its event is queued. Queue it:
 *   the first request with this claim may be doing it, or may have died before.
 * - `queued`: the id belongs to this content, and its event is dispatched.
 * - `taken`: the id belongs to other content.
 * - `stored`: no client claimed it, but an event with this id exists, pushed by a producer straight onto the
 *   queue.
 */
export type EventClaim =
  | { readonly state: 'open' | 'queued'; readonly acceptedAt: number }
  | { readonly state: 'taken' | 'stored' };

/** What a claim is made for: the id, and how long it is kept. */
type ClaimedEvent = Pick<AcceptedEvent, 'accountId' | 'id' | 'acceptedAt' | 'schedule'>;

// KEYS: event-claim, event. ARGV: digest, accepted_at, retention.
const CLAIM = defineScript(`
  local claim = redis.call('HMGET', KEYS[1], 'digest', 'accepted_at', 'queued')
  if claim[1] then
    if claim[1] ~= ARGV[1] then return {'taken'} end
    return {claim[3] and 'queued' or 'open', claim[2]}
  end
  if redis.call('EXISTS', KEYS[2]) == 1 then return {'stored'} end
  redis.call('HSET', KEYS[1], 'digest', ARGV[1], 'accepted_at', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {'open', ARGV[2]}`);

// Never creates a claim: that one would have no expiry.
const MARK_QUEUED = defineScript(`
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  return redis.call('HSETNX', KEYS[1], 'queued', '1')`);

// KEYS: event-claim. ARGV: digest, accepted_at.
const TAKE_BACK = defineScript(`
  local claim = redis.call('HMGET', KEYS[1], 'digest', 'accepted_at', 'queued')
  if claim[1] == ARGV[1] and claim[2] == ARGV[2] and not claim[3] then redis.call('DEL', KEYS[1]) end`);

/** The event ids that clients have chosen, and the content of each. */
export class EventClaimStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retentionMs: number,
  ) {}

  /** Claim the id for the content with this digest, unless it is taken: for the retention, from when its event is due. */
  async claim(event: ClaimedEvent, digest: string, target: ScriptTarget = this.redis): Promise<EventClaim> {
    const { accountId, id, acceptedAt } = event;
    const claimKeys = [keys.eventClaim(accountId, id), keys.event(accountId, id)];
    const publishedAt = publishedAtOf(event);
    const keptMs = this.retentionMs + Math.max(acceptedAt - publishedAt, 0);
    const reply = (await CLAIM(target, claimKeys, [digest, publishedAt, keptMs])) as
      | ['open' | 'queued', string]
      | ['taken' | 'stored'];
    const [state] = reply;
    if (state === 'taken' || state === 'stored') return { state };
    return { state, acceptedAt: Number(reply[1]) };
  }

  /** Remove a claim of an id that belongs to an event of the history. */
  async takeBack(event: ClaimedEvent, digest: string): Promise<void> {
    await TAKE_BACK(this.redis, [keys.eventClaim(event.accountId, event.id)], [digest, publishedAtOf(event)]);
  }

  /** Give whether this call is the first to mark it. */
  async markQueued(accountId: AccountId, id: EventId, target: ScriptTarget = this.redis): Promise<boolean> {
    return (await MARK_QUEUED(target, [keys.eventClaim(accountId, id)], [])) === 1;
  }
}
