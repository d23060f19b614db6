import { capabilities } from '../capabilities';
import type { Route } from '../http/route';
import {
  createAccount,
  eraseAccount,
  listAccounts,
  pauseAccount,
  readAccount,
  readAccountUsage,
  resumeAccount,
  updateAccount,
} from './accounts';
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from './api-keys';
import { exportAuditLog, listAuditLog } from './audit-log';
import { dropDeadLetter, listDeadLetters, readDeadLetter, retryDeadLetter } from './dead-letters';
import {
  listDeliveries,
  listEventDeliveries,
  listWebhookDeliveries,
  readDelivery,
  readDeliveryContent,
  redeliverDelivery,
} from './deliveries';
import {
  deleteEventType,
  listEventTypes,
  putEventType,
  readEventType,
  readEventTypeSchema,
} from './event-types';
import { cancelEvent, erasePayload, listEvents, readEvent, rescheduleEvent } from './events';
import { explainEvent } from './explanations';
import { exportDeliveries } from './export';
import { tryFilter } from './filters';
import { readMe } from './me';
import { readDeliveryMetrics, readEventMetrics } from './metrics';
import { listStoppedWebhooks, pauseQueue, readOperations, resumeQueue } from './operations';
import { listHeavyAccounts, readLastDay, readReadiness } from './operations-day';
import {
  createPortalSession,
  exchangePortalCode,
  listPortalSessions,
  revokePortalSession,
} from './portal-sessions';
import { publishBatch, publishEvent } from './publish';
import { cancelReplay, createReplay, listReplayDeliveries, listReplays, readReplay } from './replays';
import { listSigningKeys, readJwks, rotateSigningKey } from './signing-keys';
import { readSourceAddresses } from './source-addresses';
import { readStatus } from './status';
import {
  deleteWebhookTransformation,
  listTransformationTemplates,
  listTransformationVersions,
  putWebhookTransformation,
  readWebhookTransformation,
  restoreTransformationVersion,
  tryNewTransformation,
  tryWebhookTransformation,
} from './transformations';
import { readWebhookSecret, rotateWebhookSecret } from './webhook-secrets';
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  discardHeldDeliveries,
  enableWebhook,
  listWebhooks,
  readWebhook,
  testWebhook,
  updateWebhook,
  verifyWebhook,
} from './webhooks';

/**
 * Every route under /v1, in the order of the API's description. Each file has the methods, paths, scopes and
 * shapes of its routes.
 */
export const routes: readonly Route[] = [
  createWebhook, //         POST   /v1/webhooks
  listWebhooks, //          GET    /v1/webhooks
  readWebhook, //           GET    /v1/webhooks/:id
  updateWebhook, //         PATCH  /v1/webhooks/:id
  deleteWebhook, //         DELETE /v1/webhooks/:id
  enableWebhook, //         POST   /v1/webhooks/:id/enable
  disableWebhook, //        POST   /v1/webhooks/:id/disable
  discardHeldDeliveries, // POST   /v1/webhooks/:id/discard-held
  readWebhookSecret, //     GET    /v1/webhooks/:id/secret
  rotateWebhookSecret, //   POST   /v1/webhooks/:id/rotate-secret
  verifyWebhook, //         POST   /v1/webhooks/:id/verify
  testWebhook, //           POST   /v1/webhooks/:id/test
  putWebhookTransformation, //     PUT    /v1/webhooks/:id/transformation
  readWebhookTransformation, //    GET    /v1/webhooks/:id/transformation
  deleteWebhookTransformation, //  DELETE /v1/webhooks/:id/transformation
  tryWebhookTransformation, //     POST   /v1/webhooks/:id/transformation/try
  listTransformationVersions, //   GET    /v1/webhooks/:id/transformation/versions
  restoreTransformationVersion, // POST   /v1/webhooks/:id/transformation/versions/:version/restore
  tryNewTransformation, //         POST   /v1/transformations/try
  listTransformationTemplates, //  GET    /v1/transformations/templates
  readJwks, //              GET    /.well-known/webhooks/:account_id/jwks.json
  listSigningKeys, //       GET    /v1/signing-keys
  rotateSigningKey, //      POST   /v1/signing-keys/rotate
  tryFilter, //             POST   /v1/filters/try
  ...capabilities.flatMap(({ routes: own = [] }) => own),
  listWebhookDeliveries, // GET    /v1/webhooks/:id/deliveries
  listDeliveries, //        GET    /v1/deliveries
  exportDeliveries, //      GET    /v1/deliveries/export
  readDelivery, //          GET    /v1/deliveries/:id
  readDeliveryContent, //   GET    /v1/deliveries/:id/content
  redeliverDelivery, //     POST   /v1/deliveries/:id/redeliver
  readDeliveryMetrics, //   GET    /v1/metrics/deliveries
  readEventMetrics, //      GET    /v1/metrics/events
  createReplay, //          POST   /v1/webhooks/:id/replays
  listReplays, //           GET    /v1/webhooks/:id/replays
  readReplay, //            GET    /v1/replays/:id
  listReplayDeliveries, //  GET    /v1/replays/:id/deliveries
  cancelReplay, //          DELETE /v1/replays/:id
  listEvents, //            GET    /v1/events
  publishEvent, //          POST   /v1/events
  publishBatch, //          POST   /v1/events/batch
  readEvent, //             GET    /v1/events/:id
  rescheduleEvent, //       PATCH  /v1/events/:id
  cancelEvent, //           DELETE /v1/events/:id
  erasePayload, //          DELETE /v1/events/:id/payload
  listEventDeliveries, //   GET    /v1/events/:id/deliveries
  explainEvent, //          GET    /v1/events/:id/explanations
  listEventTypes, //        GET    /v1/event-types
  readEventType, //         GET    /v1/event-types/:name
  readEventTypeSchema, //   GET    /v1/event-types/:name/schema
  putEventType, //          PUT    /v1/event-types/:name
  deleteEventType, //       DELETE /v1/event-types/:name
  createApiKey, //          POST   /v1/api-keys
  listApiKeys, //           GET    /v1/api-keys
  rotateApiKey, //          POST   /v1/api-keys/:id/rotate
  revokeApiKey, //          DELETE /v1/api-keys/:id
  readMe, //                GET    /v1/me
  listAuditLog, //          GET    /v1/audit-log
  exportAuditLog, //        GET    /v1/audit-log/export
  createPortalSession, //   POST   /v1/portal-sessions
  listPortalSessions, //    GET    /v1/portal-sessions
  exchangePortalCode, //    POST   /v1/portal-sessions/exchange
  revokePortalSession, //   DELETE /v1/portal-sessions/:id
  createAccount, //         POST   /v1/accounts
  listAccounts, //          GET    /v1/accounts
  readAccount, //           GET    /v1/accounts/:id
  updateAccount, //         PATCH  /v1/accounts/:id
  eraseAccount, //          DELETE /v1/accounts/:id
  pauseAccount, //          POST   /v1/accounts/:id/pause
  resumeAccount, //         POST   /v1/accounts/:id/resume
  readAccountUsage, //      GET    /v1/account/usage
  readSourceAddresses, //   GET    /v1/source-addresses
  readStatus, //            GET    /v1/status
  readOperations, //        GET    /v1/operations
  listStoppedWebhooks, //   GET    /v1/operations/webhooks
  readLastDay, //           GET    /v1/operations/last-day
  listHeavyAccounts, //     GET    /v1/operations/accounts
  readReadiness, //         GET    /v1/operations/readiness
  pauseQueue, //            POST   /v1/operations/queues/:name/pause
  resumeQueue, //           POST   /v1/operations/queues/:name/resume
  listDeadLetters, //       GET    /v1/dead-letters
  readDeadLetter, //        GET    /v1/dead-letters/:id
  retryDeadLetter, //       POST   /v1/dead-letters/:id/retry
  dropDeadLetter, //        DELETE /v1/dead-letters/:id
];
