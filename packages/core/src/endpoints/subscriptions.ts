import { LRUCache } from 'lru-cache';
import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { createLoadOnce } from '../platform/caches';
import { matchesType } from './filters/event-filters';
import { type PayloadFilter, readStoredFilter } from './filters/payload-filter';
import type { EndpointStore } from './redis-endpoint-store';
import type { Subscriber } from './redis-subscriptions';

/** An account's endpoints at one version. */
interface Snapshot {
  readonly version: EndpointsVersion;
  readonly subscribers: readonly Subscriber[];
  readonly byId: ReadonlyMap<EndpointId, Subscriber>;
}

/** The subscribers of a type, whatever their filters on data. */
export interface TypeSubscribers {
  readonly subscribers: readonly Subscriber[];
  /** The total length of their filters in characters; 0: no filters. */
  readonly filterLength: number;
}

/** The same at one version, computed on first demand. */
interface KnownTypeSubscribers extends TypeSubscribers {
  readonly snapshot: Snapshot;
}

// Some 100,000 endpoints with a few types each.
const SNAPSHOT_BYTES = 64 * 1024 * 1024;
// All of those, for a few types.
const BY_TYPE_BYTES = 16 * 1024 * 1024;
// The filters on data that were used last: 2,000 of the largest, 100,000 with one condition each.
const COMPILED_BYTES = 64 * 1024 * 1024;
const COMPILED_BYTES_PER_CHARACTER = 8;
// An endpoint without its filters, in its list and by its id.
const SUBSCRIBER_BYTES = 400;
// A filter, at two bytes a character, and a string's own size.
const FILTER_BYTES = 24;
const REFERENCE_BYTES = 8;
const ENTRY_BYTES = 300;

/** The subscriptions of an account at one moment. */
export interface AccountSubscriptions {
  subscribedTo(type: string): TypeSubscribers;
  /** The filter of a subscriber, compiled on first use. */
  readonly compiled: (filter: string) => PayloadFilter;
  /** The account's endpoints among these. */
  presentOf(ids: readonly EndpointId[]): readonly Subscriber[];
}

/** The version of an account's endpoints: it grows with each change to them. */
export type EndpointsVersion = string;

/**
 * The subscribers of an event type. The account's version is read each time, so that an endpoint registered
 * before the event was published is always found. The endpoints themselves are read only when the version has
 * changed, and then once for all concurrent callers.
 */
export class Subscriptions {
  readonly #snapshots = new LRUCache<AccountId, Snapshot>({
    maxSize: SNAPSHOT_BYTES,
    sizeCalculation: sizeOf,
  });
  readonly #byType = new LRUCache<string, KnownTypeSubscribers>({
    maxSize: BY_TYPE_BYTES,
    sizeCalculation: ({ subscribers }) =>
      Math.min(BY_TYPE_BYTES, ENTRY_BYTES + subscribers.length * REFERENCE_BYTES),
  });
  readonly #filters = new LRUCache<string, PayloadFilter>({
    maxSize: COMPILED_BYTES,
    sizeCalculation: (_filter, text) => ENTRY_BYTES + text.length * COMPILED_BYTES_PER_CHARACTER,
  });
  readonly #loadOnce = createLoadOnce((accountId: AccountId, version: EndpointsVersion) =>
    this.#load(accountId, version),
  );

  constructor(private readonly endpointStore: EndpointStore) {}

  async readVersion(accountId: AccountId): Promise<EndpointsVersion> {
    return await this.endpointStore.version(accountId);
  }

  /** The version of the subscriptions that are in memory, which may be old; `undefined` if none are. */
  knownVersion(accountId: AccountId): EndpointsVersion | undefined {
    return this.#snapshots.get(accountId)?.version;
  }

  /**
   * @param version read no earlier than the published events arrived, or one that is compared before they are
   *   stored.
   */
  async current(
    accountId: AccountId,
    version: Promise<EndpointsVersion> | EndpointsVersion = this.readVersion(accountId),
  ): Promise<AccountSubscriptions> {
    const snapshot = await this.#snapshotAt(accountId, await version);
    return {
      subscribedTo: (type) => this.#subscribedTo(accountId, snapshot, type),
      compiled: (filter) => this.#compiled(filter),
      presentOf: (ids) => [...new Set(ids)].flatMap((id) => snapshot.byId.get(id) ?? []),
    };
  }

  #subscribedTo(accountId: AccountId, snapshot: Snapshot, type: string): TypeSubscribers {
    const key = `${accountId}/${type}`;
    const known = this.#byType.get(key);
    if (known?.snapshot === snapshot) return known;
    const subscribers = snapshot.subscribers.filter(({ events }) => asksFor(events, type));
    const filterLength = subscribers.reduce((sum, { filter = '' }) => sum + filter.length, 0);
    const found = { snapshot, subscribers, filterLength };
    this.#byType.set(key, found);
    return found;
  }

  // Cached by its text: many endpoints may share one, and most keep theirs when an account changes.
  #compiled(text: string): PayloadFilter {
    const known = this.#filters.get(text);
    if (known) return known;
    const filter = readStoredFilter(text);
    this.#filters.set(text, filter);
    return filter;
  }

  async #snapshotAt(accountId: AccountId, version: EndpointsVersion): Promise<Snapshot> {
    const known = this.#snapshots.get(accountId);
    return known?.version === version ? known : await this.#loadOnce(accountId, version);
  }

  async #load(accountId: AccountId, version: EndpointsVersion): Promise<Snapshot> {
    // Read after its version: if a change happens in between, the next event finds a newer version and reads
    // again.
    const subscribers = await this.endpointStore.listSubscribers(accountId);
    const snapshot = { version, subscribers, byId: new Map(subscribers.map((one) => [one.id, one])) };
    this.#snapshots.set(accountId, snapshot);
    return snapshot;
  }
}

function asksFor(filters: readonly string[], type: string): boolean {
  return filters.some((filter) => matchesType(filter, type));
}

// A snapshot larger than the whole cache is kept all the same, alone: otherwise each event would read it
// again.
function sizeOf({ subscribers }: Snapshot): number {
  const size = subscribers.reduce((sum, subscriber) => sum + sizeOfSubscriber(subscriber), ENTRY_BYTES);
  return Math.min(SNAPSHOT_BYTES, size);
}

function sizeOfSubscriber({ events, filter = '' }: Subscriber): number {
  const texts = [...events, filter];
  return texts.reduce((size, text) => size + FILTER_BYTES + 2 * text.length, SUBSCRIBER_BYTES);
}
