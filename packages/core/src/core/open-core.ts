import { ApiKeys } from '../accounts/api-keys';
import { Audit } from '../accounts/audit/audit';
import { RefusalStore, Refusals } from '../accounts/audit/refusals';
import { Authentication, type AuthFailures } from '../accounts/authentication';
import { EventTypes } from '../accounts/event-types/event-types';
import { PortalSessions } from '../accounts/portal-sessions';
import type { BeginSpan } from '../domain/trace';
import { Endpoints } from '../endpoints/endpoints';
import { EndpointHealth } from '../endpoints/health/endpoint-health';
import { SigningKeys } from '../endpoints/signing-keys/signing-keys';
import { WaitingDeliveries } from '../endpoints/waiting-deliveries';
import { Deliveries } from '../history/deliveries';
import { Exports } from '../history/exports';
import { Metrics } from '../history/metrics';
import { RecentAttempts } from '../history/recent-attempts';
import { Turns } from '../platform/batches';
import type { Stoppable } from '../platform/timers';
import { Publishing } from '../publish/publishing';
import { FanOuts, type PublishingParts } from '../publish/publishing-parts';
import { ScheduledEvents } from '../publish/scheduled-events';
import { DeadLetterStore } from '../queue/bullmq-dead-letter-store';
import { ErasureQueue, ReplayQueue } from '../queue/bullmq-work-queues';
import { DeadLetters } from '../replays/dead-letters';
import { openStores, recordersOf, type StoreParts, type StoreSettings } from './open-stores';

export interface CoreParts extends StoreParts {
  readonly config: CoreSettings;
  /** The most bytes of an event's body in UTF-8. Absent: this process takes no events. */
  readonly maxEventBytes?: number;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  /** Absent: failed authentications are not limited. */
  readonly authFailures?: AuthFailures | undefined;
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
  const { config, redis, shards, atomic, authFailures, heavyTurns, clock, emit } = parts;
  const stores = openStores(parts);
  const deadLetterStore = new DeadLetterStore(redis, shards, clock);
  const replayQueue = new ReplayQueue(redis, shards);
  const erasureQueue = new ErasureQueue(redis, shards);
  const all = { ...stores, authFailures, deadLetterStore, replayQueue, erasureQueue, atomic, clock, emit };
  const { auditLog, pgAuditLog, auditBounds } = stores;
  const authentication = new Authentication(all);
  const refusals = new Refusals({ refusalStore: new RefusalStore(redis), auditBounds, clock, emit });
  const { eventQueue, deliveryQueue, standings } = stores;
  const queues = [eventQueue, deliveryQueue, replayQueue, erasureQueue, deadLetterStore, standings];
  const connections: readonly Stoppable[] = [
    { name: 'queues', stop: async () => void (await Promise.all(queues.map((queue) => queue.close()))) },
    { name: 'history database', stop: async () => await stores.movedHistory?.historyDatabase.close() },
  ];
  const signingKeys = new SigningKeys({ ...all, keyLeadMs: config.SIGNING_KEY_LEAD ?? DAY_MS });
  const waitingDeliveries = new WaitingDeliveries(all);
  const maxEndpoints = config.MAX_WEBHOOKS ?? 0;
  const eventTypes = new EventTypes(all);
  const publishingParts: PublishingParts = {
    eventTypes,
    maxEventBytes: parts.maxEventBytes ?? 0,
    beginSpan: parts.beginSpan,
    routingTurns: new Turns(),
    fanOutTurns: new Turns(),
    fanOuts: new FanOuts(),
    ...all,
  };
  const scheduledEvents = new ScheduledEvents(publishingParts);
  return {
    stores: all,
    recorders: [{ name: 'refusals', stop: () => refusals.stop() }, ...recordersOf(stores)],
    connections,
    apiKeys: new ApiKeys(all),
    audit: new Audit({ auditLog, movedAuditLog: pgAuditLog }),
    authentication,
    deadLetters: new DeadLetters(all),
    deliveries: new Deliveries(all),
    exports: new Exports(all),
    metrics: new Metrics({ ...all, recentAttempts: new RecentAttempts({ ...all, heavyTurns }) }),
    endpoints: new Endpoints({ ...all, signingKeys, waitingDeliveries, maxEndpoints }),
    endpointHealth: new EndpointHealth(all),
    eventTypes,
    portalSessions: new PortalSessions({ ...all, authentication }),
    publishing: new Publishing(publishingParts, scheduledEvents),
    refusals,
    scheduledEvents,
    signingKeys,
  };
}
