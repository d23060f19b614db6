import { LRUCache } from 'lru-cache';
import type { AccountId } from '../events/event';
import type { EndpointId } from './endpoint';
import { matchesType } from './event-filter';
import type { EndpointStore } from './redis-endpoint-store';
import type { Subscriber } from './stored-endpoint';

/** An account's endpoints at one version, and who asked for which type, worked out on first demand. */
interface Snapshot {
  readonly version: string;
  readonly subscribers: readonly Subscriber[];
  readonly byType: Map<string, readonly Subscriber[]>;
}

const CACHED_ACCOUNTS = 1_000;

/**
 * Who asked for an event type. The account's version is read each time, so that an endpoint registered before
 * the event was published is always found; the endpoints themselves only when the version has changed.
 */
export function createSubscriptions(endpointStore: Pick<EndpointStore, 'version' | 'listSubscribers'>) {
  const snapshots = new LRUCache<AccountId, Snapshot>({ max: CACHED_ACCOUNTS });

  async function subscribersOf(accountId: AccountId, type: string): Promise<readonly Subscriber[]> {
    const snapshot = await currentSnapshot(accountId);
    const known = snapshot.byType.get(type);
    if (known) return known;
    const subscribers = snapshot.subscribers.filter(({ events }) => asksFor(events, type));
    snapshot.byType.set(type, subscribers);
    return subscribers;
  }

  async function currentSnapshot(accountId: AccountId): Promise<Snapshot> {
    const version = await endpointStore.version(accountId);
    const known = snapshots.get(accountId);
    if (known?.version === version) return known;
    // Read after its version: should a change slip in between, the next look finds a newer version and reads again.
    const subscribers = await endpointStore.listSubscribers(accountId);
    const snapshot = { version, subscribers, byType: new Map() };
    snapshots.set(accountId, snapshot);
    return snapshot;
  }

  /** Those of the given endpoints that the account has. */
  async function presentOf(accountId: AccountId, ids: readonly EndpointId[]): Promise<readonly Subscriber[]> {
    const wanted = new Set(ids);
    const { subscribers } = await currentSnapshot(accountId);
    return subscribers.filter(({ id }) => wanted.has(id));
  }

  return { subscribersOf, presentOf };
}

export type Subscriptions = ReturnType<typeof createSubscriptions>;

function asksFor(filters: readonly string[], type: string): boolean {
  return filters.some((filter) => matchesType(filter, type));
}
