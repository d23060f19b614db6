import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { formatTime } from '../platform/clock';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import {
  addMissingOver,
  addOver,
  claimOver,
  forgetOver,
  leaseSweep,
  putOverBack,
  setOverAside,
  settleOver,
} from './redis-over-list.script';

/** A finished delivery. Without an endpoint: an event that has no deliveries. */
export interface OverEntry {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  readonly endpointId?: EndpointId | undefined;
}

export interface ClaimedEntry extends OverEntry {
  /** When it finished, or counts as finished. Milliseconds since the Unix epoch. */
  readonly overAt: number;
}

/** An entry that the history refuses. */
export interface Aside {
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly reason: string;
}

export interface AsideEntry extends OverEntry, Aside {}

export interface AsidePage {
  readonly entries: readonly AsideEntry[];
  readonly nextCursor: string | undefined;
}

/** Entries that one process moves now. */
export interface OverClaim {
  readonly entries: readonly ClaimedEntry[];
  /** When others may take them. It tells this claim from others, and from entries that came again since. */
  readonly until: number;
}

const READ_AT_ONCE = 500;

/**
 * The list `over`: finished deliveries that have not moved to the history yet. The script that records the end of a delivery
 * adds it. A process claims some entries at a time. If it dies, they are due again.
 */
export class OverList {
  constructor(private readonly redis: RedisClient) {}

  /** @param at when it finished. An existing entry gets this time. */
  async add(entry: OverEntry, at: number): Promise<void> {
    await addOver({ at, entries: [memberOf(entry)] })(this.redis);
  }

  addAll(entries: readonly OverEntry[], at: number): Step<void> {
    return entries.length === 0 ? async () => {} : addOver({ at, entries: entries.map(memberOf) });
  }

  /** Add the entries that are missing in the list. */
  async addMissing(entries: readonly OverEntry[], at: number): Promise<void> {
    if (entries.length > 0) await addMissingOver({ at, entries: entries.map(memberOf) })(this.redis);
  }

  /** Remove entries, also ones that another process has claimed. */
  async forget(entries: readonly OverEntry[]): Promise<void> {
    if (entries.length > 0) await forgetOver({ entries: entries.map(memberOf) })(this.redis);
  }

  /**
   * Claim the entries that finished first.
   *
   * @param overUntil entries that finished later are left out.
   * @param until see `OverClaim`.
   */
  claim(overUntil: number, most: number, until: number): Step<OverClaim> {
    return mapReply(claimOver({ dueUntil: overUntil, most, dueAgainAt: until }), (flat) => {
      const entries: ClaimedEntry[] = [];
      for (let i = 0; i < flat.length; i += 2) {
        entries.push({ ...entryOf(flat[i] ?? ''), overAt: Number(flat[i + 1]) });
      }
      return { entries, until };
    });
  }

  /**
   * End the claim of some entries. @param overAt the time at which each is due again; `undefined`: it is done. An entry that
   * finished once more since then stays, with its new time. A done entry is removed from those set aside, too, because it
   * was found again since.
   */
  async settle(
    { until }: Pick<OverClaim, 'until'>,
    settled: readonly { readonly entry: OverEntry; readonly overAt: number | undefined }[],
  ): Promise<void> {
    if (settled.length === 0) return;
    const entries = settled.map(({ entry }) => memberOf(entry));
    const dueAgain = settled.map(({ overAt }) => String(overAt ?? ''));
    await settleOver({ claimedUntil: until, entries, dueAgain })(this.redis);
  }

  /**
   * Set an entry aside that the history refuses. Its delivery stays in Redis.
   *
   * @returns whether it was still claimed.
   */
  async setAside(
    { until }: Pick<OverClaim, 'until'>,
    entry: OverEntry,
    { since, reason }: Aside,
  ): Promise<boolean> {
    const why = `${formatTime(since)} ${reason}`;
    return await setOverAside({ claimedUntil: until, entry: memberOf(entry), why })(this.redis);
  }

  async countAside(): Promise<number> {
    return await this.redis.hlen(keys.setAside);
  }

  /** Some of the entries set aside, in no order. @param cursor the `nextCursor` of the page before. */
  async listAside(cursor?: string): Promise<AsidePage> {
    const { entries, nextCursor } = await this.#scanAside(cursor);
    return {
      entries: entries.map(([member, value]) => ({ ...entryOf(member), ...asideOf(value) })),
      nextCursor,
    };
  }

  /**
   * Put back the entries that were set aside until now, so that they are tried again. Entries that are refused again meanwhile
   * stay aside.
   *
   * @param now milliseconds since the Unix epoch.
   * @param tell how many were put back so far.
   * @returns how many were put back.
   */
  async putBackAside(now: number, tell: (count: number) => void = () => {}): Promise<number> {
    let count = 0;
    let cursor: string | undefined;
    do {
      const { entries, nextCursor } = await this.#scanAside(cursor);
      const earlier = entries.filter(([, value]) => asideOf(value).since <= now);
      if (earlier.length > 0) {
        const put = {
          entries: earlier.map(([member]) => member),
          reasons: earlier.map(([, value]) => value),
        };
        count += await putOverBack({ at: now, ...put })(this.redis);
        tell(count);
      }
      cursor = nextCursor;
    } while (cursor !== undefined);
    return count;
  }

  async #scanAside(cursor = '0') {
    const [next, flat] = await this.redis.hscan(keys.setAside, cursor, 'COUNT', READ_AT_ONCE);
    const entries = flat.flatMap((member, i) => (i % 2 === 0 ? [[member, flat[i + 1] ?? ''] as const] : []));
    return { entries, nextCursor: next === '0' ? undefined : next };
  }

  /** Whether this worker may search for finished deliveries that the list lacks, for this long. */
  async leaseSweep(workerId: string, forMs: number): Promise<boolean> {
    return await leaseSweep({ worker: workerId, leaseMs: forMs })(this.redis);
  }

  async count(): Promise<number> {
    return await this.redis.zcard(keys.over);
  }

  /** When the entry that has waited longest finished. Milliseconds since the Unix epoch. */
  async oldest(): Promise<number | undefined> {
    const [, score] = await this.redis.zrange(keys.over, '0', '0', 'WITHSCORES');
    return score === undefined ? undefined : Number(score);
  }
}

// None of the ids has a slash or a dot.
function memberOf({ accountId, eventId, endpointId = '' as EndpointId }: OverEntry): string {
  return `${accountId}/${eventId}.${endpointId}`;
}

function entryOf(member: string): OverEntry {
  const slash = member.indexOf('/');
  const dot = member.indexOf('.', slash);
  const endpointId = member.slice(dot + 1) as EndpointId;
  return {
    accountId: member.slice(0, slash) as AccountId,
    eventId: member.slice(slash + 1, dot) as EventId,
    ...(endpointId === '' ? {} : { endpointId }),
  };
}

function asideOf(value: string): Aside {
  const space = value.indexOf(' ');
  return { since: Date.parse(value.slice(0, space)), reason: value.slice(space + 1) };
}
