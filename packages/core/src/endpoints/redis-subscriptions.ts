import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AccountId } from '../domain/account';
import { type EndpointId, endpointSchema } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { chunksOf } from '../platform/batches';
import type { RedisClient } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';

const subscriberSchema = endpointSchema.pick({
  id: true,
  events: true,
  filter: true,
  status: true,
  ordering: true,
});
/** The members of an endpoint that decide which events it gets. */
export type Subscriber = Readonly<z.infer<typeof subscriberSchema>>;

/** Only the members about its subscription, also of a record whose secrets can't be read. */
function parseSubscriber(raw: string): Subscriber {
  return subscriberSchema.parse(JSON.parse(raw));
}

/** The same, stored apart from the record, which may be a thousand times as long. */
export function encodeSubscription({ events, filter, status, ordering }: Subscriber): string {
  return JSON.stringify({ events, filter, status, ordering });
}

function decodeSubscription(id: string, raw: string): Subscriber {
  return subscriberSchema.parse({ id, ...(JSON.parse(raw) as object) });
}

/**
 * Keys of an account's endpoints, in the order that the scripts expect. All have the account's hash tag, so
 * each change is one atomic script, in a Cluster too.
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
 * The field with the version of the account that the subscriptions belong to. When the form of subscriptions
 * changes, use another name: each version of the service then rebuilds the subscriptions that another version
 * made.
 */
export const MADE_AT = 'version:2';

/**
 * The start of each script that changes an account's endpoints. It sets `version` and `is_current`: whether
 * the subscriptions matched the records until now. A change of both together may then store `version` for the
 * subscriptions. Otherwise a process without subscriptions has changed records, and the next reader rebuilds
 * them. The subscriptions of an account's first endpoint are always current, whatever an erasure by such a
 * process has left.
 *
 * A version must never come back. If it restarted from 0 after an account's erasure, a cache of the former
 * account would be used for the next one. So it starts at the present time, and no account changes faster
 * than that runs.
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

export interface SubscriberPage {
  /** Newest first. */
  readonly subscribers: readonly Subscriber[];
  readonly nextCursor: EndpointId | undefined;
}

// Some 25 KB, where endpoints subscribe to a few types each; 1 MB, where each has the longest filter.
const SUBSCRIPTIONS_AT_ONCE = 250;
// A record has up to 64 KiB, or more if it is old.
const RECORDS_AT_ONCE = 20;

// KEYS of all: see `endpointsKeys`. ARGV: the first id, how many. Gives the version, whether the
// subscriptions match the records, the ids, and the subscription of each or ''.
const READ = defineScript(`
  local ids = redis.call('ZREVRANGEBYLEX', KEYS[2], ARGV[1], '-', 'LIMIT', 0, ARGV[2])
  local version = redis.call('GET', KEYS[3])
  local is_current = version and redis.call('HGET', KEYS[5], '${MADE_AT}') == version
  local texts = {}
  if is_current and #ids > 0 then texts = redis.call('HMGET', KEYS[5], unpack(ids)) end
  for i = 1, #ids do texts[i] = texts[i] or '' end
  return { version or '', is_current and 1 or 0, ids, texts }`);

// ARGV: the version that they were made at, the writer, whether it is the first part and the last one, then
// ids and subscriptions. Stops writing once a record has changed, or another writer has begun.
const WRITE = defineScript(`
  if redis.call('GET', KEYS[3]) ~= ARGV[1] then return 0 end
  if ARGV[3] == '1' then
    redis.call('UNLINK', KEYS[5])
    redis.call('HSET', KEYS[5], 'writer', ARGV[2])
  elseif redis.call('HGET', KEYS[5], 'writer') ~= ARGV[2] then return 0 end
  redis.call('HSET', KEYS[5], unpack(ARGV, 5))
  if ARGV[4] == '1' then
    redis.call('HDEL', KEYS[5], 'writer')
    redis.call('HSET', KEYS[5], '${MADE_AT}', ARGV[1])
  end
  return 1`);

/** A part of an account's endpoints from some id on. */
interface Read {
  readonly version: string;
  readonly isCurrent: boolean;
  readonly entries: readonly { readonly id: string; readonly text: string }[];
}

/**
 * The members of an account's endpoints that decide which events they get, apart from the rest of their
 * records. Each change of a record changes them too, and notes the version of the account that they belong
 * to. A version of the service that does not know them leaves that note behind: then they are rebuilt from
 * the records, and written.
 */
export class SubscriptionStore {
  constructor(private readonly redis: RedisClient) {}

  /** All of an account, newest first, one part at a time. */
  async list(accountId: AccountId): Promise<readonly Subscriber[]> {
    const subscribers: Subscriber[] = [];
    const versions = new Set<string>();
    let wasMade = false;
    let before: string | undefined;
    do {
      const { version, isCurrent, entries } = await this.#read(accountId, SUBSCRIPTIONS_AT_ONCE, before);
      const known = entries.filter(({ text }) => text !== '');
      const made = await this.#makeAll(accountId, entries);
      subscribers.push(...inOrder(entries, [...known.map(decode), ...made]));
      versions.add(version);
      wasMade ||= !isCurrent || made.length > 0;
      before = entries.length < SUBSCRIPTIONS_AT_ONCE ? undefined : entries.at(-1)?.id;
    } while (before !== undefined);
    const [version, ...others] = versions;
    // A mix of several versions would be wrong for each.
    if (wasMade && version && others.length === 0) await this.#write(accountId, version, subscribers);
    return subscribers;
  }

  /** `before` is the `nextCursor` of the page before. */
  async page(accountId: AccountId, limit: number, before?: EndpointId): Promise<SubscriberPage> {
    const { isCurrent, entries } = await this.#read(accountId, limit, before);
    const isWhole = isCurrent && entries.every(({ text }) => text !== '');
    // Rebuild them once for all, or each list would read whole records.
    const subscribers = isWhole ? entries.map(decode) : inOrder(entries, await this.list(accountId));
    const nextCursor = entries.length < limit ? undefined : (entries.at(-1)?.id as EndpointId | undefined);
    return { subscribers, nextCursor };
  }

  async #read(accountId: AccountId, limit: number, before?: string): Promise<Read> {
    const from = before === undefined ? '+' : `(${before}`;
    const found = await READ(this.redis, endpointsKeys(accountId), [from, limit]);
    const [version, isCurrent, ids, texts] = found as [string, number, string[], string[]];
    return {
      version,
      isCurrent: isCurrent === 1,
      entries: ids.map((id, index) => ({ id, text: texts[index] ?? '' })),
    };
  }

  /**
   * Build those without a text from their records. Endpoints of an account that is being erased may have
   * none.
   */
  async #makeAll(accountId: AccountId, entries: Read['entries']): Promise<readonly Subscriber[]> {
    const ids = entries.filter(({ text }) => text === '').map(({ id }) => id);
    const made: Subscriber[] = [];
    for (const some of chunksOf(ids, RECORDS_AT_ONCE)) {
      const records = await this.redis.hmget(keys.endpoints(accountId), ...some);
      made.push(...records.filter((record) => record !== null).map(parseSubscriber));
    }
    return made;
  }

  async #write(accountId: AccountId, version: string, all: readonly Subscriber[]): Promise<void> {
    const writer = randomUUID();
    const chunks = chunksOf(all, SUBSCRIPTIONS_AT_ONCE);
    for (const [index, chunk] of chunks.entries()) {
      const place = [index === 0, index === chunks.length - 1].map(Number);
      const fields = chunk.flatMap((one) => [one.id, encodeSubscription(one)]);
      const values = [version, writer, ...place, ...fields];
      if ((await WRITE(this.redis, endpointsKeys(accountId), values)) === 0) return;
    }
  }
}

function decode({ id, text }: Read['entries'][number]): Subscriber {
  return decodeSubscription(id, text);
}

function inOrder(entries: Read['entries'], subscribers: readonly Subscriber[]): readonly Subscriber[] {
  const byId = new Map<string, Subscriber>(subscribers.map((one) => [one.id, one]));
  return entries.flatMap(({ id }) => byId.get(id) ?? []);
}
