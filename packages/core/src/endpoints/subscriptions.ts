import { LRUCache } from 'lru-cache';
import { createLoadOnce } from '../kernel/load-once';
import type { EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';
import { matchesType } from './event-filter';
import type { EndpointStore } from './redis-endpoint-store';
import type { Subscriber } from './stored-endpoint';

/** An account's endpoints at one version. */
interface Snapshot {
  readonly version: EndpointsVersion;
  readonly subscribers: readonly Subscriber[];
  readonly byId: ReadonlyMap<EndpointId, Subscriber>;
}

/** Who asked for a type, worked out on first demand. */
interface Askers {
  readonly snapshot: Snapshot;
  readonly subscribers: readonly Subscriber[];
}

// Some 100,000 endpoints that ask for a few types each.
const SNAPSHOT_BYTES = 64 * 1024 * 1024;
// All of those for a few types.
const ASKERS_BYTES = 16 * 1024 * 1024;
// An endpoint without its filters, in its list and by its id.
const SUBSCRIBER_BYTES = 400;
// A filter, at two bytes a character, and a string's own size.
const FILTER_BYTES = 24;
const REFERENCE_BYTES = 8;
const ENTRY_BYTES = 300;

/** Who gets events of an account, at one moment. */
export interface AccountSubscriptions {
  subscribersOf(type: string): readonly Subscriber[];
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
  const askers = new LRUCache<string, Askers>({
    maxSize: ASKERS_BYTES,
    sizeCalculation: ({ subscribers }) =>
      Math.min(ASKERS_BYTES, ENTRY_BYTES + subscribers.length * REFERENCE_BYTES),
  });
  const loadOnce = createLoadOnce(load);

  /** @param version read no earlier than what is published came in. */
  async function current(
    accountId: AccountId,
    version: Promise<EndpointsVersion> = readVersion(accountId),
  ): Promise<AccountSubscriptions> {
    const snapshot = await snapshotAt(accountId, await version);
    return {
      subscribersOf: (type) => askersOf(accountId, snapshot, type),
      presentOf: (ids) => [...new Set(ids)].flatMap((id) => snapshot.byId.get(id) ?? []),
    };
  }

  async function readVersion(accountId: AccountId): Promise<EndpointsVersion> {
    return await endpointStore.version(accountId);
  }

  function askersOf(accountId: AccountId, snapshot: Snapshot, type: string): readonly Subscriber[] {
    const key = `${accountId}/${type}`;
    const known = askers.get(key);
    if (known?.snapshot === snapshot) return known.subscribers;
    const subscribers = snapshot.subscribers.filter(({ events }) => asksFor(events, type));
    askers.set(key, { snapshot, subscribers });
    return subscribers;
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
  const size = subscribers.reduce((sum, { events }) => sum + sizeOfSubscriber(events), ENTRY_BYTES);
  return Math.min(SNAPSHOT_BYTES, size);
}

function sizeOfSubscriber(events: readonly string[]): number {
  return events.reduce((size, filter) => size + FILTER_BYTES + 2 * filter.length, SUBSCRIBER_BYTES);
}
