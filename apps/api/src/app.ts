import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import type { ActFor } from '@hookferry/core/accounts/act-for';
import { KnownAccounts } from '@hookferry/core/accounts/known-accounts';
import type { AuthenticateClient } from '@hookferry/core/accounts/limit-auth-failures';
import type { LimitRate } from '@hookferry/core/accounts/limit-rate';
import type { Subscriptions } from '@hookferry/core/endpoints/subscriptions';
import type { IdempotencyStore } from '@hookferry/core/intake/redis-idempotency-store';
import type { Clock } from '@hookferry/core/kernel/clock';
import type { NewId } from '@hookferry/core/kernel/ids';
import type { Emit } from '@hookferry/core/model/signal';
import type { BeginSpan } from '@hookferry/core/model/trace';
import type { InspectedQueues } from '@hookferry/core/queue/bullmq-inspected-queues';
import express, { type Express } from 'express';
import { announceRequests } from './http/announce-requests';
import { mountDocs } from './http/docs';
import type { Drain } from './http/drain';
import { createAnswerOnce } from './http/idempotency';
import { mountRoutes } from './http/mount-route';
import { mountPortal, type PortalOptions } from './http/portal';
import { mountProbes, type ProbeOptions } from './http/probes';
import { answerProblems, refuseUnknownRoute } from './http/problem';
import { mountQueueInspector } from './http/queue-inspector';
import { refuseBadHead } from './http/refuse-bad-head';
import { requestId } from './http/request-id';
import type { Route } from './http/route';
import { securityHeaders } from './http/security-headers';
import { traceRequests } from './http/trace-requests';
import { describeApi } from './openapi/document';

export interface AppDeps {
  readonly routes: readonly Route[];
  readonly probes: ProbeOptions;
  readonly drain: Drain;
  readonly authenticate: AuthenticateClient;
  readonly actFor: ActFor;
  readonly idempotencyStore: IdempotencyStore;
  readonly limitRate: LimitRate;
  readonly readEndpointsVersion: Subscriptions['readVersion'];
  readonly quota: Pick<AccountQuota, 'requireRoom' | 'requireRoomAsKnown'>;
  /** Which proxies' `X-Forwarded-For` is believed: so many hops, or those in the ranges. */
  readonly trustProxy: number | readonly string[];
  readonly maxBodyBytes: number;
  readonly hasDocs: boolean;
  /** Absent: it is not served. */
  readonly portal?: PortalOptions | undefined;
  /** Those that operators may look into; none: there is no page for it. */
  readonly inspectedQueues: InspectedQueues | undefined;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly newId: NewId;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The HTTP API, from the first middleware to the last. */
export function createApp({
  routes,
  probes,
  drain,
  authenticate,
  actFor,
  idempotencyStore,
  limitRate,
  readEndpointsVersion,
  quota,
  trustProxy,
  maxBodyBytes,
  hasDocs,
  portal,
  inspectedQueues,
  beginSpan,
  newId,
  clock,
  emit,
}: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  // An ETag would cost a hash of every answer, and nothing here is cached by clients.
  app.disable('etag');
  app.set('trust proxy', trustProxy);
  app.use(drain.endConnections);
  app.use(requestId(newId));
  app.use(securityHeaders);
  app.use(refuseBadHead);
  // Before the log: probes come every few seconds and say nothing about how the API is used.
  mountProbes(app, probes);
  if (beginSpan) app.use(traceRequests(beginSpan, clock));
  app.use(announceRequests(emit, clock));
  if (hasDocs) mountDocs(app, describeApi(routes));
  if (portal) mountPortal(app, portal);
  if (inspectedQueues) mountQueueInspector(app, inspectedQueues, authenticate);
  const answerOnce = createAnswerOnce({ idempotencyStore, newId, clock });
  mountRoutes(app, routes, {
    authenticate,
    actFor,
    limitRate,
    knownAccounts: new KnownAccounts(),
    readEndpointsVersion,
    quota,
    answerOnce,
    maxBodyBytes,
    newId,
    clock,
  });
  app.use(refuseUnknownRoute);
  app.use(answerProblems(emit));
  return app;
}
