import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import { type ActFor, KnownAccounts } from '@hookferry/core/accounts/act-for';
import type { AuthenticateClient } from '@hookferry/core/accounts/auth-failures';
import type { LimitRate } from '@hookferry/core/accounts/limit-rate';
import type { Emit } from '@hookferry/core/domain/signal';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import type { Subscriptions } from '@hookferry/core/endpoints/subscriptions';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Clock } from '@hookferry/core/platform/clock';
import type { NewId } from '@hookferry/core/platform/ids';
import type { IdempotencyStore } from '@hookferry/core/publish/redis-idempotency-store';
import type { InspectedQueues } from '@hookferry/core/queue/bullmq-inspected-queues';
import express, { type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import { announceRequests, requestId, traceRequests } from './http/announce-requests';
import { mountDocs } from './http/docs';
import { createAnswerOnce } from './http/idempotency';
import { mountRoutes } from './http/mount-route';
import { mountPortal, type PortalOptions } from './http/portal';
import { type Drain, mountProbes, type ProbeOptions } from './http/probes';
import { answerProblems, refuseUnknownRoute } from './http/problem';
import { mountQueueInspector } from './http/queue-inspector';
import type { Route } from './http/route';
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

/** For answers that are data: a browser that is led to one may load, run and frame nothing. */
export const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
  },
  xFrameOptions: { action: 'deny' },
  // What else lives below this host's name is not ours to decide.
  strictTransportSecurity: { includeSubDomains: false },
  // What they are about, pages and browsers of long ago, is not here; each would go out with each answer.
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

// Longer than any id or cursor of ours, shorter than what proxies let through.
const MAX_URL_LENGTH = 8 * 1024;
// Node passes over the headers beyond its `maxHeadersCount` in silence, so they are counted below it.
const MAX_HEADERS = 100;

/** Before anything else looks at them. The size of all headers together is the HTTP server's to limit. */
export const refuseBadHead: RequestHandler = (request, _response, next) => {
  const { url, rawHeaders, headers, httpVersion } = request;
  // RFC 9112, 3.2. Node would do the same, without a word of why.
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw new AppError('malformed_request', 'The header "Host" is missing.');
  }
  if (url.length > MAX_URL_LENGTH) {
    throw new AppError('uri_too_long', `The URL is longer than ${MAX_URL_LENGTH} characters.`);
  }
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    throw new AppError('headers_too_large', `There are more than ${MAX_HEADERS} headers.`);
  }
  next();
};
