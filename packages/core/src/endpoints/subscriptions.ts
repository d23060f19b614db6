import { LRUCache } from 'lru-cache';
import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import { createLoadOnce } from '../platform/caches';
import { matchesType } from './filters/event-filters';
import { type PayloadFilter, readStoredFilter } from './filters/payload-filter';
import type { EndpointStore } from './redis-endpoint-store';
import type { Subscriber } from './stored-endpoint';

/** An account's endpoints at one version. */
interface Snapshot {
  readonly version: EndpointsVersion;
  readonly subscribers: readonly Subscriber[];
  readonly byId: ReadonlyMap<EndpointId, Subscriber>;
}

/** Who asked for a type, whatever their filters on data. */
export interface Askers {
  readonly subscribers: readonly Subscriber[];
  /** How many characters their filters have together; 0: there are none. */
  readonly filterLength: number;
}

/** The same at one version, worked out on first demand. */
interface KnownAskers extends Askers {
  readonly snapshot: Snapshot;
}

// Some 100,000 endpoints that ask for a few types each.
const SNAPSHOT_BYTES = 64 * 1024 * 1024;
// All of those for a few types.
const ASKERS_BYTES = 16 * 1024 * 1024;
// Of filters on data those used last: 2,000 of the largest, 100,000 of one condition each.
const COMPILED_BYTES = 64 * 1024 * 1024;
const COMPILED_BYTES_PER_CHARACTER = 8;
// An endpoint without its filters, in its list and by its id.
const SUBSCRIBER_BYTES = 400;
// A filter, at two bytes a character, and a string's own size.
const FILTER_BYTES = 24;
const REFERENCE_BYTES = 8;
const ENTRY_BYTES = 300;

/** Who gets events of an account, at one moment. */
export interface AccountSubscriptions {
  askersOf(type: string): Askers;
  /** The filter of a subscriber, read when it is asked for first. */
  compiled(filter: string): PayloadFilter;
  /** Those of the given endpoints that the account has. */
  presentOf(ids: readonly EndpointId[]): readonly Subscriber[];
}

/** What an account's endpoints are like by now: grows with each change to them. */
export type EndpointsVersion = string;

/**
 * Who asked for an event type. The account's version is read each time, so that an endpoint registered before
 * the event was published is always found; the endpoints themselves only when the version has changed, and then once
 * for all who want to know.
 */
export function createSubscriptions(endpointStore: Pick<EndpointStore, 'version' | 'listSubscribers'>) {
  const snapshots = new LRUCache<AccountId, Snapshot>({ maxSize: SNAPSHOT_BYTES, sizeCalculation: sizeOf });
  const askers = new LRUCache<string, KnownAskers>({
    maxSize: ASKERS_BYTES,
    sizeCalculation: ({ subscribers }) =>
      Math.min(ASKERS_BYTES, ENTRY_BYTES + subscribers.length * REFERENCE_BYTES),
  });
  const filters = new LRUCache<string, PayloadFilter>({
    maxSize: COMPILED_BYTES,
    sizeCalculation: (_filter, text) => ENTRY_BYTES + text.length * COMPILED_BYTES_PER_CHARACTER,
  });
  const loadOnce = createLoadOnce(load);

  /** @param version read no earlier than what is published came in. */
  async function current(
    accountId: AccountId,
    version: Promise<EndpointsVersion> = readVersion(accountId),
  ): Promise<AccountSubscriptions> {
    const snapshot = await snapshotAt(accountId, await version);
    return {
      askersOf: (type) => askersOf(accountId, snapshot, type),
      compiled,
      presentOf: (ids) => [...new Set(ids)].flatMap((id) => snapshot.byId.get(id) ?? []),
    };
  }

  async function readVersion(accountId: AccountId): Promise<EndpointsVersion> {
    return await endpointStore.version(accountId);
  }

  function askersOf(accountId: AccountId, snapshot: Snapshot, type: string): Askers {
    const key = `${accountId}/${type}`;
    const known = askers.get(key);
    if (known?.snapshot === snapshot) return known;
    const subscribers = snapshot.subscribers.filter(({ events }) => asksFor(events, type));
    const filterLength = subscribers.reduce((sum, { filter = '' }) => sum + filter.length, 0);
    const found = { snapshot, subscribers, filterLength };
    askers.set(key, found);
    return found;
  }

  // Kept by its text: many endpoints may have the same, and most have the same as before when an account changes.
  function compiled(text: string): PayloadFilter {
    const known = filters.get(text);
    if (known) return known;
    const filter = readStoredFilter(text);
    filters.set(text, filter);
    return filter;
  }

  async function snapshotAt(accountId: AccountId, version: EndpointsVersion): Promise<Snapshot> {
    const known = snapshots.get(accountId);
    return known?.version === version ? known : await loadOnce(accountId, version);
  }

  async function load(accountId: AccountId, version: EndpointsVersion): Promise<Snapshot> {
    // Read after its version: should a change slip in between, the next look finds a newer version and reads again.
    const subscribers = await endpointStore.listSubscribers(accountId);
    const snapshot = { version, subscribers, byId: new Map(subscribers.map((one) => [one.id, one])) };
    snapshots.set(accountId, snapshot);
    return snapshot;
  }

  return { current, readVersion };
}

export type Subscriptions = ReturnType<typeof createSubscriptions>;

function asksFor(filters: readonly string[], type: string): boolean {
  return filters.some((filter) => matchesType(filter, type));
}

// What is larger than the whole cache is kept all the same, alone: or each event would read it anew.
function sizeOf({ subscribers }: Snapshot): number {
  const size = subscribers.reduce((sum, subscriber) => sum + sizeOfSubscriber(subscriber), ENTRY_BYTES);
  return Math.min(SNAPSHOT_BYTES, size);
}

function sizeOfSubscriber({ events, filter = '' }: Subscriber): number {
  const texts = [...events, filter];
  return texts.reduce((size, text) => size + FILTER_BYTES + 2 * text.length, SUBSCRIBER_BYTES);
}
