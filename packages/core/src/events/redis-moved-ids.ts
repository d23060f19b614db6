import { createHash } from 'node:crypto';
import type { AccountId } from '../domain/account';
import type { AcceptedEvent, EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { mapReply, together } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Guard } from '../platform/redis-lua';
import type { Step } from '../platform/redis-script';
import { eraseDigest, guardUnrepeated, guardUnsent, keepId, lookAtId } from './redis-moved-ids.script';

/** The id of an event that has moved to the history, and what it stands for. */
export interface MovedId {
  /**
   * - `claimed`: a client chose the id over HTTP; the digest is that of its claim.
   * - `queued`: the event came by the queue; the digest is that of its body.
   */
  readonly kind: 'claimed' | 'queued';
  /** Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  /** Of the content, as in a claim; the beginning is enough. `undefined`: its payload was erased. */
  readonly digest: string | undefined;
}

/** An event that leaves Redis, with what stays known of it. */
export interface KeptId {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  /** Milliseconds since the Unix epoch. */
  readonly acceptedAt: number;
  readonly movedId: Omit<MovedId, 'acceptedAt'>;
}

/** The members of an event that tell whether it was sent. */
type Known = Pick<AcceptedEvent, 'accountId' | 'id' | 'isClaimed' | 'isQueued'>;

/** What became of an event that may have been fanned out before. */
export interface SentState {
  /** Whether it is in its account's list: it is complete then. */
  readonly isListed: boolean;
  readonly moved: MovedId | undefined;
}

// So that the ids of an account with millions of events take less than 100 bytes each, and those of one with a
// few thousand no key for each.
const BUCKETS = 1_024;
const FIELD_BYTES = 9;
const DIGEST_LENGTH = 22;

/**
 * The ids of events that have moved to the history, for as long as an id that is published again is known:
 * RETENTION. Nobody publishes again with those that the API made itself. While its own request may be repeated, such an event
 * lapses, and so is not stored again.
 */
export class MovedIds {
  constructor(
    private readonly redis: RedisClient,
    private readonly retentionMs: number,
  ) {}

  look(accountId: AccountId, id: EventId, now: number): Step<SentState> {
    const { part, field } = placeOf(id);
    return mapReply(lookAtId({ account: accountId, part, event: id, field }), ({ isListed, value }) => {
      const moved = decode(value ?? '');
      const isKept = moved !== undefined && moved.acceptedAt >= now - this.retentionMs;
      return { isListed, moved: isKept ? moved : undefined };
    });
  }

  /**
   * Guards for the step before events of an account are stored: whether none of them has been sent. Another process may
   * have sent or cancelled one that was published with its id, and it may have moved, since it was looked at. And Redis
   * may have run this very request before, over a connection that broke.
   */
  guardsUnsent(events: readonly AcceptedEvent[], now: number): readonly Guard[] {
    const known = events.filter(mayBeKnown);
    const others = events.filter((event) => !mayBeKnown(event));
    const [first] = others;
    return [
      ...(known.length > 0 ? [together(known.map((event) => this.#guardUnsent(event, now)))] : []),
      ...(first ? [this.#guardUnrepeated(first.accountId, others)] : []),
    ];
  }

  /** Whether one of these guards would have stopped at this event. */
  async wasSent(event: Known, now: number): Promise<boolean> {
    const { accountId, id } = event;
    if (!mayBeKnown(event)) return !(await this.#guardUnrepeated(accountId, [event])(this.redis));
    const { isListed, moved } = await this.look(accountId, id, now)(this.redis);
    return isListed || moved !== undefined;
  }

  keep({ accountId, eventId, acceptedAt, movedId }: KeptId, now: number): Step<void> {
    const { part, field } = placeOf(eventId);
    return keepId({
      account: accountId,
      part,
      field,
      value: encode(movedId, acceptedAt),
      keptMs: this.retentionMs,
      now,
    });
  }

  /** Its id stays taken. */
  async eraseDigest(accountId: AccountId, id: EventId): Promise<void> {
    await eraseDigest({ account: accountId, ...placeOf(id) })(this.redis);
  }

  async removeAll(accountId: AccountId): Promise<void> {
    const buckets = Array.from({ length: BUCKETS }, (_, i) => keys.movedIds(accountId, i));
    await this.redis.unlink(...buckets);
  }

  // One that may have been published before is not there, and has not moved.
  #guardUnsent({ accountId, id }: Known, now: number): Guard<boolean> {
    const { part, field } = placeOf(id);
    return guardUnsent({ account: accountId, part, event: id, field, now, keptMs: this.retentionMs });
  }

  // Redis has stored none of the account's events, whose ids the API made.
  #guardUnrepeated(account: AccountId, events: readonly Known[]): Guard<boolean> {
    return guardUnrepeated({ account, ids: events.map(({ id }) => id) });
  }
}

/** Whether an event may have been accepted before. One whose id the API made was not. */
export function mayBeKnown({ isClaimed, isQueued }: Known): boolean {
  return isClaimed === true || isQueued === true;
}

/** Whether a digest is that of the content which the id stands for. */
export function isOfDigest({ digest }: MovedId, whole: string): boolean {
  return digest !== undefined && whole.startsWith(digest);
}

/** The digest of an event's content: its body, and the endpoints that it is aimed at. */
export function digestOf(body: string, endpointIds: readonly string[] = []): string {
  return createHash('sha256')
    .update(`${endpointIds.join(' ')}\n${body}`)
    .digest('base64url');
}

// Nobody can choose ids so that they all come into one bucket.
function placeOf(id: EventId): { readonly part: number; readonly field: string } {
  const digest = createHash('sha256').update(id).digest();
  return {
    part: digest.readUInt16BE(0) % BUCKETS,
    field: digest.toString('base64url', 2, 2 + FIELD_BYTES),
  };
}

const KINDS = { claimed: 'c', queued: 'q' } as const;

function encode({ kind, digest = '' }: Omit<MovedId, 'acceptedAt'>, acceptedAt: number): string {
  return `${KINDS[kind]}${acceptedAt} ${digest.slice(0, DIGEST_LENGTH)}`;
}

function decode(value: string): MovedId | undefined {
  const [, letter, acceptedAt, digest] = /^([cq])(\d+) ([\w-]*)$/.exec(value) ?? [];
  if (letter === undefined) return undefined;
  return {
    kind: letter === KINDS.claimed ? 'claimed' : 'queued',
    acceptedAt: Number(acceptedAt),
    digest: digest === '' ? undefined : digest,
  };
}
