import { setTimeout as wait } from 'node:timers/promises';
import { Accounts } from '../accounts/accounts';
import { ApiKeys } from '../accounts/api-keys';
import { Audit } from '../accounts/audit/audit';
import { Refusals } from '../accounts/audit/refusals';
import { AuthFailures } from '../accounts/auth-failures';
import { Authentication } from '../accounts/authentication';
import { EventTypes } from '../accounts/event-types/event-types';
import { PortalSessions } from '../accounts/portal-sessions';
import type { BeginSpan } from '../domain/trace';
import { Endpoints } from '../endpoints/endpoints';
import { EndpointHealth } from '../endpoints/health/endpoint-health';
import { SigningKeys } from '../endpoints/signing-keys/signing-keys';
import { WaitingDeliveries } from '../endpoints/waiting-deliveries';
import { Deliveries } from '../history/deliveries';
import { Explanations } from '../history/explanations';
import { Exports } from '../history/exports';
import { Metrics } from '../history/metrics';
import { RecentAttempts } from '../history/recent-attempts';
import { AccountPauses } from '../operations/account-pauses';
import { AccountErasure } from '../operations/erase-account';
import { PayloadErasure } from '../operations/erase-payload';
import { Operations } from '../operations/operations';
import { Queues } from '../operations/queues';
import { RefusedRecords } from '../operations/refused-records';
import { Turns } from '../platform/batches';
import { steadyClock } from '../platform/clock';
import type { Allowance } from '../platform/duration';
import type { Stoppable } from '../platform/timers';
import { Intake } from '../publish/intake';
import { Publishing } from '../publish/publishing';
import { FanOuts, type PublishingParts } from '../publish/publishing-parts';
import { ScheduledEvents } from '../publish/scheduled-events';
import { DeadLetters } from '../replays/dead-letters';
import { Redelivery } from '../replays/redelivery';
import { ReplayedDeliveries } from '../replays/replayed-deliveries';
import { Replays } from '../replays/replays';
import { openStores, recordersOf, type StoreParts, type Stores } from './open-stores';
import type { StoreSettings } from './store-settings';

export interface CoreParts extends StoreParts {
  readonly config: CoreSettings;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
}

/** Those besides are of processes that take requests or events. */
export interface CoreSettings extends StoreSettings {
  readonly AUTH_FAILURE_LIMIT?: Allowance | undefined;
  readonly MAX_EVENT_BYTES?: number;
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
  const stores = openStores(parts);
  const modules = openModules(parts, stores);
  const recorders: readonly Stoppable[] = [
    { name: 'refusals', stop: () => modules.refusals.stop() },
    ...recordersOf(stores),
  ];
  const connections: readonly Stoppable[] = [
    { name: 'history database', stop: async () => await stores.movedHistory?.historyDatabase.close() },
  ];
  return { ...modules, stores, recorders, connections };
}

function openModules(parts: CoreParts, stores: Stores) {
  const { config, heavyTurns, clock } = parts;
  const { auditLog, pgAuditLog } = stores;
  const allowance = config.AUTH_FAILURE_LIMIT;
  const authFailures = allowance && new AuthFailures({ allowance, clock });
  const authentication = new Authentication({ ...stores, authFailures });
  const refusals = new Refusals(stores);
  const eventTypes = new EventTypes(stores);
  const signingKeys = new SigningKeys({ ...stores, keyLeadMs: config.SIGNING_KEY_LEAD ?? DAY_MS });
  const waitingDeliveries = new WaitingDeliveries(stores);
  const maxEndpoints = config.MAX_WEBHOOKS ?? 0;
  const endpoints = new Endpoints({ ...stores, signingKeys, waitingDeliveries, maxEndpoints });
  const endpointHealth = new EndpointHealth(stores);
  const { pgIntake, emit } = stores;
  const isDurable = config.INTAKE === 'durable' && pgIntake !== undefined;
  const publishingParts: PublishingParts = {
    eventTypes,
    intake: isDurable ? new Intake(pgIntake, emit, steadyClock) : undefined,
    maxEventBytes: config.MAX_EVENT_BYTES ?? 0,
    beginSpan: parts.beginSpan,
    routingTurns: new Turns(),
    fanOutTurns: new Turns(),
    fanOuts: new FanOuts(),
    ...stores,
  };
  const scheduledEvents = new ScheduledEvents(publishingParts);
  const deliveries = new Deliveries(stores);
  const redelivery = new Redelivery({ ...stores, deliveries });
  const replays = new Replays({ ...stores, redelivery, recordForm: config.RECORD_FORM });
  return {
    accounts: new Accounts(stores),
    accountErasure: new AccountErasure(stores),
    accountPauses: new AccountPauses({ ...stores, endpoints }),
    apiKeys: new ApiKeys(stores),
    audit: new Audit({ auditLog, movedAuditLog: pgAuditLog }),
    authentication,
    deadLetters: new DeadLetters({ ...stores, replays }),
    deliveries,
    endpoints,
    endpointHealth,
    eventTypes,
    explanations: new Explanations({ ...stores, deliveries }),
    exports: new Exports(stores),
    metrics: new Metrics({ ...stores, recentAttempts: new RecentAttempts({ ...stores, heavyTurns }) }),
    operations: new Operations({ ...stores, endpointHealth }),
    payloadErasure: new PayloadErasure({ ...stores, scheduledEvents, wait }),
    portalSessions: new PortalSessions({ ...stores, authentication, authFailures }),
    publishing: new Publishing(publishingParts, scheduledEvents),
    queues: new Queues(stores),
    redelivery,
    refusals,
    refusedRecords: new RefusedRecords(stores),
    replayedDeliveries: new ReplayedDeliveries({ ...stores, replays, deliveries }),
    replays,
    scheduledEvents,
    signingKeys,
  };
}
