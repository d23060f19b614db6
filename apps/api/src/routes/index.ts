import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import type { ManageApiKeys } from '@hookferry/core/accounts/api-keys';
import type { ExchangeOfClient } from '@hookferry/core/accounts/auth-failures';
import type { ManagePortalSessions } from '@hookferry/core/accounts/portal-sessions';
import type { TargetUrlRules } from '@hookferry/core/egress/target-url';
import type { RemoveEventType } from '@hookferry/core/endpoints/filters/event-filters';
import type { TryFilter } from '@hookferry/core/endpoints/filters/try-filter';
import type { ReadHealth } from '@hookferry/core/endpoints/health/read-health';
import type { ManageEndpoints } from '@hookferry/core/endpoints/manage-endpoints';
import type { EventTypes } from '@hookferry/core/event-types/event-types';
import type { ExportAttempts } from '@hookferry/core/history/export-attempts';
import type { ReadDeliveries } from '@hookferry/core/history/read-deliveries';
import type { ReadEvents } from '@hookferry/core/history/read-events';
import type { ListenerStreams } from '@hookferry/core/listeners/listener-streams';
import type { ManageListeners } from '@hookferry/core/listeners/manage-listeners';
import type { EraseAccount } from '@hookferry/core/operations/erase-account';
import type { ErasePayload } from '@hookferry/core/operations/erase-payload';
import type { ListTroubled } from '@hookferry/core/operations/list-troubled';
import type { ManageAccounts } from '@hookferry/core/operations/manage-accounts';
import type { ReadOperations } from '@hookferry/core/operations/read-operations';
import type { Clock } from '@hookferry/core/platform/clock';
import type { AcceptEvents } from '@hookferry/core/publish/accept-events';
import type { TestEndpoint } from '@hookferry/core/publish/test-endpoint';
import type { ManageDeadLetters } from '@hookferry/core/replays/manage-dead-letters';
import type { ManageReplays } from '@hookferry/core/replays/manage-replays';
import type { Redeliver } from '@hookferry/core/replays/redeliver';
import type { ChangeStreams } from '@hookferry/core/stream/change-streams';
import type { MayGoOn } from '../http/long-requests';
import type { Route } from '../http/route';
import {
  createAccount,
  eraseAccount,
  listAccounts,
  readAccount,
  readAccountUsage,
  updateAccount,
} from './accounts';
import { createApiKey, listApiKeys, revokeApiKey } from './api-keys';
import { dropDeadLetter, listDeadLetters, readDeadLetter, redriveDeadLetter } from './dead-letters';
import {
  listDeliveries,
  listEventDeliveries,
  listWebhookDeliveries,
  readDelivery,
  redeliverDelivery,
} from './deliveries';
import { deleteEventType, listEventTypes, putEventType, readEventType } from './event-types';
import { erasePayload, listEvents, publishBatch, publishEvent, readEvent } from './events';
import { exportDeliveries } from './export';
import { tryFilter } from './filters';
import { answerListener, createListener, streamListener } from './listeners';
import { listTroubledWebhooks, readOperations } from './operations';
import {
  createPortalSession,
  exchangePortalCode,
  listPortalSessions,
  revokePortalSession,
} from './portal-sessions';
import { cancelReplay, createReplay, listReplays, readReplay } from './replays';
import { streamChanges } from './stream';
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  listWebhooks,
  readWebhook,
  readWebhookSecret,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from './webhooks';

export interface RouteDeps {
  readonly endpoints: ManageEndpoints;
  readonly readHealth: ReadHealth;
  readonly deliveries: ReadDeliveries;
  readonly exportAttempts: ExportAttempts;
  readonly redeliver: Redeliver;
  readonly replays: ManageReplays;
  readonly events: ReadEvents;
  readonly acceptEvents: AcceptEvents;
  readonly erasePayload: ErasePayload;
  readonly testEndpoint: TestEndpoint;
  readonly tryFilter: TryFilter;
  readonly urlRules: TargetUrlRules;
  readonly listeners: ManageListeners;
  readonly listenerStreams: ListenerStreams;
  readonly changeStreams: ChangeStreams;
  readonly mayGoOn: MayGoOn;
  readonly apiKeys: ManageApiKeys;
  readonly portalSessions: ManagePortalSessions;
  readonly exchangeCode: ExchangeOfClient;
  /** What links to the portal begin with; `undefined`: as the request that asks for one. */
  readonly publicUrl: string | undefined;
  readonly accounts: ManageAccounts;
  readonly eraseAccount: EraseAccount;
  readonly eventTypes: EventTypes;
  readonly removeEventType: RemoveEventType;
  readonly deadLetters: ManageDeadLetters;
  readonly readOperations: ReadOperations;
  readonly listTroubled: ListTroubled;
  readonly quota: Pick<AccountQuota, 'look'>;
  readonly clock: Clock;
}

/** Everything under /v1. Each route's file says its method, path, scope and shape. */
export function createRoutes(deps: RouteDeps): readonly Route[] {
  const { endpoints, readHealth, deliveries, redeliver, replays, events, acceptEvents, testEndpoint } = deps;
  const { urlRules, apiKeys, accounts, eventTypes, exportAttempts, deadLetters, clock } = deps;
  const { listeners, listenerStreams } = deps;
  return [
    createWebhook(endpoints, urlRules), //   POST   /v1/webhooks
    listWebhooks(endpoints, readHealth), //  GET    /v1/webhooks
    readWebhook(endpoints, readHealth), //   GET    /v1/webhooks/:id
    updateWebhook(endpoints, urlRules), //   PATCH  /v1/webhooks/:id
    deleteWebhook(endpoints), //             DELETE /v1/webhooks/:id
    enableWebhook(endpoints), //             POST   /v1/webhooks/:id/enable
    disableWebhook(endpoints), //            POST   /v1/webhooks/:id/disable
    readWebhookSecret(endpoints), //         GET    /v1/webhooks/:id/secret
    rotateWebhookSecret(endpoints), //       POST   /v1/webhooks/:id/rotate-secret
    testWebhook(testEndpoint), //            POST   /v1/webhooks/:id/test
    tryFilter(deps.tryFilter), //            POST   /v1/filters/try
    createListener(listeners), //            POST   /v1/listeners
    streamListener(listenerStreams, deps.mayGoOn), // GET    /v1/listeners/:id/stream
    answerListener(listenerStreams), //      POST   /v1/listeners/:id/answers
    streamChanges(deps.changeStreams, endpoints, deps.mayGoOn), // GET /v1/stream
    listWebhookDeliveries(deliveries), //    GET    /v1/webhooks/:id/deliveries
    listDeliveries(deliveries), //           GET    /v1/deliveries
    exportDeliveries(exportAttempts, deps.mayGoOn), // GET    /v1/deliveries/export
    readDelivery(deliveries), //             GET    /v1/deliveries/:id
    redeliverDelivery(redeliver), //         POST   /v1/deliveries/:id/redeliver
    createReplay(replays), //                POST   /v1/webhooks/:id/replays
    listReplays(replays), //                 GET    /v1/webhooks/:id/replays
    readReplay(replays), //                  GET    /v1/replays/:id
    cancelReplay(replays), //                DELETE /v1/replays/:id
    listEvents(events), //                   GET    /v1/events
    publishEvent(acceptEvents), //           POST   /v1/events
    publishBatch(acceptEvents), //           POST   /v1/events/batch
    readEvent(events), //                    GET    /v1/events/:id
    erasePayload(deps.erasePayload), //      DELETE /v1/events/:id/payload
    listEventDeliveries(deliveries), //      GET    /v1/events/:id/deliveries
    listEventTypes(eventTypes), //           GET    /v1/event-types
    readEventType(eventTypes), //            GET    /v1/event-types/:name
    putEventType(eventTypes), //             PUT    /v1/event-types/:name
    deleteEventType(deps.removeEventType), // DELETE /v1/event-types/:name
    createApiKey(apiKeys, clock), //         POST   /v1/api-keys
    listApiKeys(apiKeys), //                 GET    /v1/api-keys
    revokeApiKey(apiKeys), //                DELETE /v1/api-keys/:id
    createPortalSession(deps.portalSessions, deps.publicUrl), // POST /v1/portal-sessions
    listPortalSessions(deps.portalSessions), // GET /v1/portal-sessions
    exchangePortalCode(deps.exchangeCode), // POST  /v1/portal-sessions/exchange
    revokePortalSession(deps.portalSessions), // DELETE /v1/portal-sessions/:id
    createAccount(accounts), //              POST   /v1/accounts
    listAccounts(accounts, deps.quota), //   GET    /v1/accounts
    readAccount(accounts), //                GET    /v1/accounts/:id
    updateAccount(accounts), //              PATCH  /v1/accounts/:id
    eraseAccount(deps.eraseAccount), //      DELETE /v1/accounts/:id
    readAccountUsage(deps.quota), //         GET    /v1/account/usage
    readOperations(deps.readOperations), //  GET    /v1/operations
    listTroubledWebhooks(deps.listTroubled), // GET /v1/operations/webhooks
    listDeadLetters(deadLetters), //         GET    /v1/dead-letters
    readDeadLetter(deadLetters), //          GET    /v1/dead-letters/:id
    redriveDeadLetter(deadLetters), //       POST   /v1/dead-letters/:id/redrive
    dropDeadLetter(deadLetters), //          DELETE /v1/dead-letters/:id
  ];
}
