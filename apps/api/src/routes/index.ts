import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import type { ExchangeOfClient } from '@hookferry/core/accounts/limit-exchanges';
import type { ManageApiKeys } from '@hookferry/core/accounts/manage-api-keys';
import type { ManagePortalSessions } from '@hookferry/core/accounts/manage-portal-sessions';
import type { EventTypes } from '@hookferry/core/catalogue/event-types';
import type { ChangeStreams } from '@hookferry/core/changes/change-streams';
import type { TargetUrlRules } from '@hookferry/core/egress/target-url';
import type { ExportAttempts } from '@hookferry/core/history/export-attempts';
import type { ReadDeliveries } from '@hookferry/core/history/read-deliveries';
import type { ReadEvents } from '@hookferry/core/history/read-events';
import type { AcceptEvents } from '@hookferry/core/intake/accept-events';
import type { Clock } from '@hookferry/core/kernel/clock';
import type { ListenerStreams } from '@hookferry/core/listeners/listener-streams';
import type { ManageListeners } from '@hookferry/core/listeners/manage-listeners';
import type { EraseAccount } from '@hookferry/core/manage/erase-account';
import type { ErasePayload } from '@hookferry/core/manage/erase-payload';
import type { ListTroubled } from '@hookferry/core/manage/list-troubled';
import type { ManageAccounts } from '@hookferry/core/manage/manage-accounts';
import type { ManageEndpoints } from '@hookferry/core/manage/manage-endpoints';
import type { ReadHealth } from '@hookferry/core/manage/read-health';
import type { ReadOperations } from '@hookferry/core/manage/read-operations';
import type { RemoveEventType } from '@hookferry/core/manage/remove-event-type';
import type { TestEndpoint } from '@hookferry/core/manage/test-endpoint';
import type { TryFilter } from '@hookferry/core/manage/try-filter';
import type { ManageDeadLetters } from '@hookferry/core/recovery/manage-dead-letters';
import type { ManageReplays } from '@hookferry/core/recovery/manage-replays';
import type { Redeliver } from '@hookferry/core/recovery/redeliver';
import type { MayGoOn } from '../http/may-go-on';
import type { Route } from '../http/route';
import { answerListener } from './answer-listener';
import { cancelReplay } from './cancel-replay';
import { createAccount } from './create-account';
import { createApiKey } from './create-api-key';
import { createListener } from './create-listener';
import { createPortalSession } from './create-portal-session';
import { createReplay } from './create-replay';
import { createWebhook } from './create-webhook';
import { deleteEventType } from './delete-event-type';
import { deleteWebhook } from './delete-webhook';
import { disableWebhook } from './disable-webhook';
import { dropDeadLetter } from './drop-dead-letter';
import { enableWebhook } from './enable-webhook';
import { eraseAccount } from './erase-account';
import { erasePayload } from './erase-payload';
import { exchangePortalCode } from './exchange-portal-code';
import { exportDeliveries } from './export-deliveries';
import { listAccounts } from './list-accounts';
import { listApiKeys } from './list-api-keys';
import { listDeadLetters } from './list-dead-letters';
import { listDeliveries } from './list-deliveries';
import { listEventDeliveries } from './list-event-deliveries';
import { listEventTypes } from './list-event-types';
import { listEvents } from './list-events';
import { listPortalSessions } from './list-portal-sessions';
import { listReplays } from './list-replays';
import { listTroubledWebhooks } from './list-troubled-webhooks';
import { listWebhookDeliveries } from './list-webhook-deliveries';
import { listWebhooks } from './list-webhooks';
import { publishBatch } from './publish-batch';
import { publishEvent } from './publish-event';
import { putEventType } from './put-event-type';
import { readAccount } from './read-account';
import { readAccountUsage } from './read-account-usage';
import { readDeadLetter } from './read-dead-letter';
import { readDelivery } from './read-delivery';
import { readEvent } from './read-event';
import { readEventType } from './read-event-type';
import { readOperations } from './read-operations';
import { readReplay } from './read-replay';
import { readWebhook } from './read-webhook';
import { readWebhookSecret } from './read-webhook-secret';
import { redeliverDelivery } from './redeliver-delivery';
import { redriveDeadLetter } from './redrive-dead-letter';
import { revokeApiKey } from './revoke-api-key';
import { revokePortalSession } from './revoke-portal-session';
import { rotateWebhookSecret } from './rotate-webhook-secret';
import { streamChanges } from './stream-changes';
import { streamListener } from './stream-listener';
import { testWebhook } from './test-webhook';
import { tryFilter } from './try-filter';
import { updateAccount } from './update-account';
import { updateWebhook } from './update-webhook';

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
