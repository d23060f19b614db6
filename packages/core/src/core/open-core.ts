import { Endpoints } from '../endpoints/endpoints';
import { EndpointHealth } from '../endpoints/health/endpoint-health';
import { SigningKeys } from '../endpoints/signing-keys/signing-keys';
import { WaitingDeliveries } from '../endpoints/waiting-deliveries';
import type { Stoppable } from '../platform/timers';
import { DeadLetterStore } from '../queue/bullmq-dead-letter-store';
import { ErasureQueue, ReplayQueue } from '../queue/bullmq-work-queues';
import { DeadLetters } from '../replays/dead-letters';
import { openStores, recordersOf, type StoreParts, type StoreSettings } from './open-stores';

export interface CoreParts extends StoreParts {
  readonly config: CoreSettings;
}

/** Those besides are of the process that creates webhooks and rotates keys: no other one has them. */
export interface CoreSettings extends StoreSettings {
  readonly MAX_WEBHOOKS?: number;
  readonly SIGNING_KEY_LEAD?: number;
}

const DAY_MS = 86_400_000;

/** What the service does, by subject: routes, commands and consumers call these. */
export type Core = ReturnType<typeof openCore>;

/**
 * Open all modules over an open connection. Nothing is started.
 *
 * @returns beside them, `stores` for what is opened over the same stores; `recorders`, which still write when a process stops,
 *   and need `connections` until then. Both are in the order in which they must stop.
 */
export function openCore(parts: CoreParts) {
  const { config, redis, shards, atomic, clock, emit } = parts;
  const stores = openStores(parts);
  const deadLetterStore = new DeadLetterStore(redis, shards, clock);
  const replayQueue = new ReplayQueue(redis, shards);
  const erasureQueue = new ErasureQueue(redis, shards);
  const all = { ...stores, deadLetterStore, replayQueue, erasureQueue, atomic, clock, emit };
  const { eventQueue, deliveryQueue, standings } = stores;
  const queues = [eventQueue, deliveryQueue, replayQueue, erasureQueue, deadLetterStore, standings];
  const connections: readonly Stoppable[] = [
    { name: 'queues', stop: async () => void (await Promise.all(queues.map((queue) => queue.close()))) },
    { name: 'history database', stop: async () => await stores.movedHistory?.historyDatabase.close() },
  ];
  const signingKeys = new SigningKeys({ ...all, keyLeadMs: config.SIGNING_KEY_LEAD ?? DAY_MS });
  const waitingDeliveries = new WaitingDeliveries(all);
  const maxEndpoints = config.MAX_WEBHOOKS ?? 0;
  return {
    stores: all,
    recorders: recordersOf(stores),
    connections,
    deadLetters: new DeadLetters(all),
    endpoints: new Endpoints({ ...all, signingKeys, waitingDeliveries, maxEndpoints }),
    endpointHealth: new EndpointHealth(all),
    signingKeys,
  };
}
