import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import { formatTime } from '../platform/clock';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import {
  addEnded,
  addMissingEnded,
  claimEnded,
  endClaim,
  forgetEnded,
  leaseSweep,
  noteRefused,
  putRefusedBack,
} from './redis-ended-list.script';

/** A finished delivery. Without an endpoint: an event that has no deliveries. */
export interface EndedEntry {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  readonly endpointId?: EndpointId | undefined;
}

export interface ClaimedEntry extends EndedEntry {
  /** When it finished, or counts as finished. Milliseconds since the Unix epoch. */
  readonly endedAt: number;
}

/** An entry that the history refuses. */
export interface HistoryRefusal {
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly reason: string;
}

export interface RefusedEntry extends EndedEntry, HistoryRefusal {}

export interface RefusedPage {
  readonly entries: readonly RefusedEntry[];
  readonly nextCursor: string | undefined;
}

/** Entries that one process moves now. */
export interface EndedClaim {
  readonly entries: readonly ClaimedEntry[];
  /** When others may take them. It tells this claim from others, and from entries that came again since. */
  readonly until: number;
}

const READ_AT_ONCE = 500;

/**
 * The list `over`: finished deliveries that have not moved to the history yet. The script that records the end of a delivery
 * adds it. A process claims some entries at a time. If it dies, they are due again.
 */
export class EndedList {
  constructor(private readonly redis: RedisClient) {}

  /** @param at when it finished. An existing entry gets this time. */
  async add(entry: EndedEntry, at: number): Promise<void> {
    await addEnded({ at, entries: [memberOf(entry)] })(this.redis);
  }

  addAll(entries: readonly EndedEntry[], at: number): Step<void> {
    return entries.length === 0 ? async () => {} : addEnded({ at, entries: entries.map(memberOf) });
  }

  /** Add the entries that are missing in the list. */
  async addMissing(entries: readonly EndedEntry[], at: number): Promise<void> {
    if (entries.length > 0) await addMissingEnded({ at, entries: entries.map(memberOf) })(this.redis);
  }

  /** Remove entries, also ones that another process has claimed. */
  async forget(entries: readonly EndedEntry[]): Promise<void> {
    if (entries.length > 0) await forgetEnded({ entries: entries.map(memberOf) })(this.redis);
  }

  /**
   * Claim the entries that finished first.
   *
   * @param endedUntil entries that finished later are left out.
   * @param until see `EndedClaim`.
   */
  claim(endedUntil: number, most: number, until: number): Step<EndedClaim> {
    return mapReply(claimEnded({ dueUntil: endedUntil, most, dueAgainAt: until }), (flat) => {
      const entries: ClaimedEntry[] = [];
      for (let i = 0; i < flat.length; i += 2) {
        entries.push({ ...entryOf(flat[i] ?? ''), endedAt: Number(flat[i + 1]) });
      }
      return { entries, until };
    });
  }

  /**
   * End the claim of some entries. @param endedAt the time at which each is due again; `undefined`: it is done. An entry that
   * finished once more since then stays, with its new time. A done entry is removed from the refused ones, too, because it
   * was found again since.
   */
  async endClaim(
    { until }: Pick<EndedClaim, 'until'>,
    results: readonly { readonly entry: EndedEntry; readonly endedAt: number | undefined }[],
  ): Promise<void> {
    if (results.length === 0) return;
    const entries = results.map(({ entry }) => memberOf(entry));
    const dueAgain = results.map(({ endedAt }) => String(endedAt ?? ''));
    await endClaim({ claimedUntil: until, entries, dueAgain })(this.redis);
  }

  /**
   * Note that the history refuses an entry. Its delivery stays in Redis.
   *
   * @returns whether it was still claimed.
   */
  async noteRefused(
    { until }: Pick<EndedClaim, 'until'>,
    entry: EndedEntry,
    { since, reason }: HistoryRefusal,
  ): Promise<boolean> {
    const why = `${formatTime(since)} ${reason}`;
    return await noteRefused({ claimedUntil: until, entry: memberOf(entry), why })(this.redis);
  }

  async countRefused(): Promise<number> {
    return await this.redis.hlen(keys.historyRefused);
  }

  /** Some of the refused entries, in no order. @param cursor the `nextCursor` of the page before. */
  async listRefused(cursor?: string): Promise<RefusedPage> {
    const { entries, nextCursor } = await this.#scanRefused(cursor);
    return {
      entries: entries.map(([member, value]) => ({ ...entryOf(member), ...refusalOf(value) })),
      nextCursor,
    };
  }

  /**
   * Put back the entries that were refused until now, so that they are tried again. Entries that are refused again meanwhile
   * stay refused.
   *
   * @param now milliseconds since the Unix epoch.
   * @param onProgress gets how many were put back so far.
   * @returns how many were put back.
   */
  async putRefusedBack(now: number, onProgress: (count: number) => void = () => {}): Promise<number> {
    let count = 0;
    let cursor: string | undefined;
    do {
      const { entries, nextCursor } = await this.#scanRefused(cursor);
      const earlier = entries.filter(([, value]) => refusalOf(value).since <= now);
      if (earlier.length > 0) {
        const put = {
          entries: earlier.map(([member]) => member),
          reasons: earlier.map(([, value]) => value),
        };
        count += await putRefusedBack({ at: now, ...put })(this.redis);
        onProgress(count);
      }
      cursor = nextCursor;
    } while (cursor !== undefined);
    return count;
  }

  async #scanRefused(cursor = '0') {
    const [next, flat] = await this.redis.hscan(keys.historyRefused, cursor, 'COUNT', READ_AT_ONCE);
    const entries = flat.flatMap((member, i) => (i % 2 === 0 ? [[member, flat[i + 1] ?? ''] as const] : []));
    return { entries, nextCursor: next === '0' ? undefined : next };
  }

  /** Whether this worker may search for finished deliveries that the list lacks, for this long. */
  async leaseSweep(workerId: string, forMs: number): Promise<boolean> {
    return await leaseSweep({ worker: workerId, leaseMs: forMs })(this.redis);
  }

  async count(): Promise<number> {
    return await this.redis.zcard(keys.ended);
  }

  /** When the entry that has waited longest finished. Milliseconds since the Unix epoch. */
  async oldest(): Promise<number | undefined> {
    const [, score] = await this.redis.zrange(keys.ended, '0', '0', 'WITHSCORES');
    return score === undefined ? undefined : Number(score);
  }
}

// None of the ids has a slash or a dot.
function memberOf({ accountId, eventId, endpointId = '' as EndpointId }: EndedEntry): string {
  return `${accountId}/${eventId}.${endpointId}`;
}

function entryOf(member: string): EndedEntry {
  const slash = member.indexOf('/');
  const dot = member.indexOf('.', slash);
  const endpointId = member.slice(dot + 1) as EndpointId;
  return {
    accountId: member.slice(0, slash) as AccountId,
    eventId: member.slice(slash + 1, dot) as EventId,
    ...(endpointId === '' ? {} : { endpointId }),
  };
}

function refusalOf(value: string): HistoryRefusal {
  const space = value.indexOf(' ');
  return { since: Date.parse(value.slice(0, space)), reason: value.slice(space + 1) };
}
