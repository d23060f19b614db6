import { AppError } from '@hookferry/core/platform/app-error';
import express, { type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { ApiContext } from './context';
import { mountDocs } from './http/docs';
import { mountRoutes } from './http/mount-route';
import { mountPortal, PORTAL_FOLDER } from './http/portal';
import { mountProbes } from './http/probes';
import { answerProblems, refuseUnknownRoute } from './http/problem';
import { mountQueueInspector } from './http/queue-inspector';
import { announceRequests, beginRequests } from './http/request-state';
import { describeApi } from './openapi/document';
import { routes } from './routes/index';

/** The HTTP API, from the first middleware to the last. */
export function createApp(context: ApiContext): Express {
  const { config, probes, inspectedQueues, emit } = context;
  const app = express();
  app.disable('x-powered-by');
  // An ETag would cost a hash of every response, and clients cache nothing here.
  app.disable('etag');
  // The proxies whose `X-Forwarded-For` is trusted: a number of hops, or address ranges.
  app.set('trust proxy', config.TRUST_PROXY);
  app.use(beginRequests(context));
  app.use(securityHeaders);
  app.use(refuseBadHead);
  // Before the log: probes come every few seconds and say nothing about the use of the API.
  mountProbes(app, probes);
  app.use(announceRequests(context));
  if (config.DOCS_ENABLED) mountDocs(app, describeApi(routes));
  if (config.PORTAL) {
    mountPortal(app, { folder: PORTAL_FOLDER, frameAncestors: config.PORTAL_FRAME_ANCESTORS });
  }
  if (inspectedQueues) mountQueueInspector(app, inspectedQueues, context);
  mountRoutes(app, routes, context);
  app.use(refuseUnknownRoute);
  app.use(answerProblems(emit));
  return app;
}

/** For responses with data: a browser that is led to one may load, run and frame nothing. */
export const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
  },
  xFrameOptions: { action: 'deny' },
  // Other services below this host's name are not this product's to decide about.
  strictTransportSecurity: { includeSubDomains: false },
  // These concern pages and old browsers, which are not served here; each would go out with each response.
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

// Longer than any id or cursor, shorter than proxies allow.
const MAX_URL_LENGTH = 8 * 1024;
// Node silently ignores headers beyond its `maxHeadersCount`, so they are counted below it.
const MAX_HEADERS = 100;

/** Before any other check. The HTTP server limits the size of all headers together. */
export const refuseBadHead: RequestHandler = (request, _response, next) => {
  const { url, rawHeaders, headers, httpVersion } = request;
  // RFC 9112, 3.2. Node would do the same, without an explanation.
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
