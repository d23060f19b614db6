import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AccountId } from '../domain/account';
import { type Endpoint, type EndpointId, endpointSchema, usesLane } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { chunksOf } from '../platform/batches';
import type { RedisClient } from '../platform/redis-connect';
import { readSubscriptions, writeSubscriptions } from './redis-subscriptions.script';

const subscriberSchema = endpointSchema
  .pick({ id: true, events: true, filter: true, status: true, ordering: true })
  .extend({
    /** Whether its deliveries go into a lane. Unknown if a version before has stored it: the worker decides then. */
    isInLane: z.boolean().optional(),
  });
/** The members of an endpoint that decide which events it gets, and how its deliveries wait. */
export type Subscriber = Readonly<z.infer<typeof subscriberSchema>>;

const lanePartSchema = endpointSchema.pick({
  ordering: true,
  batch: true,
  format: true,
  coalesce: true,
  whileDisabled: true,
  status: true,
  disabledReason: true,
});

/** Only the members about its subscription, also of a record whose secrets can't be read. */
function parseSubscriber(raw: string): Subscriber {
  const record: unknown = JSON.parse(raw);
  return withLane(subscriberSchema.parse(record), lanePartSchema.parse(record));
}

/** The same, stored apart from the record, which may be a thousand times as long. */
export function subscriptionOf(endpoint: Endpoint): string {
  return encodeSubscription(withLane(endpoint, endpoint));
}

function withLane(subscriber: Subscriber, endpoint: Parameters<typeof usesLane>[0]): Subscriber {
  return usesLane(endpoint) ? { ...subscriber, isInLane: true } : subscriber;
}

function encodeSubscription({ events, filter, status, ordering, isInLane }: Subscriber): string {
  return JSON.stringify({ events, filter, status, ordering, isInLane });
}

function decodeSubscription(id: string, raw: string): Subscriber {
  return subscriberSchema.parse({ id, ...(JSON.parse(raw) as object) });
}

export interface SubscriberPage {
  /** Newest first. */
  readonly subscribers: readonly Subscriber[];
  readonly nextCursor: EndpointId | undefined;
}

// Some 25 KB, where endpoints subscribe to a few types each; 1 MB, where each has the longest filter.
const SUBSCRIPTIONS_AT_ONCE = 250;
// A record has up to 64 KiB, or more if it is old.
const RECORDS_AT_ONCE = 20;

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
    const page = { account: accountId, first: from, most: limit };
    const { version = '', isCurrent, ids, texts } = await readSubscriptions(page)(this.redis);
    return { version, isCurrent, entries: ids.map((id, index) => ({ id, text: texts[index] ?? '' })) };
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
      const part = writeSubscriptions({
        account: accountId,
        madeAt: version,
        writer,
        isFirst: index === 0,
        isLast: index === chunks.length - 1,
        fields: chunk.flatMap((one) => [one.id, encodeSubscription(one)]),
      });
      if (!(await part(this.redis))) return;
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
