import { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express } from 'express';
import type { ApiContext } from './context';
import { allowOrigins } from './http/allow-origins';
import type { ApiCapability } from './http/capability';
import { mountDocs } from './http/docs';
import { mountHomePage } from './http/home-page';
import type { MessageClasses } from './http/http-server';
import { mountRoutes } from './http/mount-route';
import { mountPortal, PORTAL_FOLDER } from './http/portal';
import { mountProbes } from './http/probes';
import { answerProblems, createRefuseUnknownRoute } from './http/problem';
import { mountQueueInspector } from './http/queue-inspector';
import { DOCS_FOLDER, mountReceivePage } from './http/receive-page';
import { beginRequests } from './http/request-state';
import { setHeads } from './http/send-reply';
import { routes } from './routes/index';

/** The HTTP API, from the first middleware to the last. */
export function createApp(core: ApiContext, capabilities: readonly ApiCapability[]): Express {
  const { config, probes, inspectedQueues, emit } = core;
  // Their routes call their modules.
  const context = Object.assign({}, core, ...capabilities.map(({ modules }) => modules)) as ApiContext;
  const app = express();
  app.disable('x-powered-by');
  // An ETag would cost a hash of every response, and clients cache nothing here.
  app.disable('etag');
  // The proxies whose `X-Forwarded-For` is trusted: a number of hops, or address ranges.
  app.set('trust proxy', config.TRUST_PROXY);
  app.use(beginRequests(context));
  if (config.PORTAL_ALLOWED_ORIGINS.length > 0) app.use(allowOrigins(config.PORTAL_ALLOWED_ORIGINS));
  // First, since nearly all requests are for them. They write their heads at once, and what comes behind sets
  // its headers one by one.
  mountRoutes(app, routes, context);
  app.use(setHeads);
  mountProbes(app, probes);
  for (const { mount } of capabilities) mount?.(app);
  if (config.DOCS_ENABLED) mountDocs(app, DOCS_FOLDER);
  if (config.PORTAL) {
    mountPortal(app, {
      folder: PORTAL_FOLDER,
      frameAncestors: config.PORTAL_FRAME_ANCESTORS,
      entryUrl: config.PORTAL_ENTRY_URL,
      operatorName: config.OPERATOR_NAME,
      sessionStorage: config.PORTAL_SESSION_STORAGE,
    });
  }
  if (config.RECEIVE_PAGE) {
    mountReceivePage(app, {
      folder: DOCS_FOLDER,
      operator: config.OPERATOR_NAME,
      addresses: config.SOURCE_ADDRESSES,
      timeoutMs: config.DELIVERY_TIMEOUT,
      retryDelaysMs: config.RETRY_SCHEDULE,
    });
  }
  mountHomePage(app, { portal: config.PORTAL, docs: config.DOCS_ENABLED, receivePage: config.RECEIVE_PAGE });
  if (inspectedQueues) mountQueueInspector(app, inspectedQueues, context.authentication);
  app.use(createRefuseUnknownRoute(routes.map(({ path }) => path)));
  app.use(answerProblems(emit));
  return app;
}

/**
 * The classes of the requests and responses of a server that serves this app.
 *
 * Express gives each request and each response the prototypes that its app has for them. Node then no longer
 * knows how such an object is made up, which costs more than all the rest that Express does. An object of
 * these classes has those prototypes from the beginning, so that Express changes nothing.
 */
export function messageClassesOf(app: Express): MessageClasses {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Of extends IncomingMessage = IncomingMessage> extends ServerResponse<Of> {}
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request) as Express['request'];
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response) as Express['response'];
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}
