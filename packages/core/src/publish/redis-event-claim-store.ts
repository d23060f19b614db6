import type { AccountId } from '../domain/account';
import { type AcceptedEvent, type EventId, publishedAtOf } from '../domain/event';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import {
  type ClaimEventReply,
  claimEvent,
  markEventQueued,
  takeBackEventClaim,
} from './redis-event-claim-store.script';

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

/** The event ids that clients have chosen, and the content of each. */
export class EventClaimStore {
  constructor(
    private readonly redis: RedisClient,
    private readonly retentionMs: number,
  ) {}

  /** Claim the id for the content with this digest, unless it is taken: for the retention, from when its event is due. */
  claim(event: ClaimedEvent, digest: string): Step<EventClaim> {
    const { accountId, id, acceptedAt } = event;
    const publishedAt = publishedAtOf(event);
    const step = claimEvent({
      account: accountId,
      id,
      digest,
      acceptedAt: publishedAt,
      keptMs: this.retentionMs + Math.max(acceptedAt - publishedAt, 0),
    });
    return mapReply(step, claimOf);
  }

  /** Remove a claim of an id that belongs to an event of the history. */
  async takeBack(event: ClaimedEvent, digest: string): Promise<void> {
    const { accountId, id } = event;
    const step = takeBackEventClaim({ account: accountId, id, digest, acceptedAt: publishedAtOf(event) });
    await step(this.redis);
  }

  /** Give whether this call is the first to mark it. */
  markQueued(accountId: AccountId, id: EventId): Step<boolean> {
    return markEventQueued({ account: accountId, id });
  }
}

function claimOf({ state, acceptedAt }: ClaimEventReply): EventClaim {
  return state === 'taken' || state === 'stored' ? { state } : { state, acceptedAt };
}
