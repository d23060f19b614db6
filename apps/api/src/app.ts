import type { ActFor } from '@webhooks/core/accounts/act-for';
import type { Authenticate } from '@webhooks/core/api-keys/authenticate';
import type { IdempotencyStore } from '@webhooks/core/idempotency/redis-idempotency-store';
import type { Clock } from '@webhooks/core/runtime/clock';
import type { NewId } from '@webhooks/core/runtime/ids';
import type { Emit } from '@webhooks/core/signals/signals';
import express, { type Express } from 'express';
import helmet from 'helmet';
import { announceRequests } from './http/announce-requests';
import { createAnswerOnce } from './http/idempotency';
import { mountRoutes } from './http/mount-route';
import { mountProbes, type ProbeOptions } from './http/probes';
import { answerProblems, refuseUnknownRoute } from './http/problem';
import { requestId } from './http/request-id';
import type { Route } from './http/route';

export interface AppDeps {
  readonly routes: readonly Route[];
  readonly probes: ProbeOptions;
  readonly authenticate: Authenticate;
  readonly actFor: ActFor;
  readonly idempotencyStore: IdempotencyStore;
  readonly maxBodyBytes: number;
  readonly newId: NewId;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The HTTP API, from the first middleware to the last. */
export function createApp({
  routes,
  probes,
  authenticate,
  actFor,
  idempotencyStore,
  maxBodyBytes,
  newId,
  clock,
  emit,
}: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  // An ETag would cost a hash of every answer, and nothing here is cached by clients.
  app.disable('etag');
  app.use(requestId(newId));
  app.use(helmet());
  // Before the log: probes come every few seconds and say nothing about how the API is used.
  mountProbes(app, probes);
  app.use(announceRequests(emit, clock));
  const answerOnce = createAnswerOnce({ idempotencyStore, newId, clock });
  mountRoutes(app, routes, { authenticate, actFor, answerOnce, maxBodyBytes, newId, clock });
  app.use(refuseUnknownRoute);
  app.use(answerProblems(emit));
  return app;
}
