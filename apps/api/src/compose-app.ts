import { createActFor } from '@hookferry/core/accounts/act-for';
import type { AuthenticateClient, ExchangeOfClient } from '@hookferry/core/accounts/auth-failures';
import type { Authenticate } from '@hookferry/core/accounts/authenticate';
import { createLimitRate } from '@hookferry/core/accounts/limit-rate';
import { createRedisAllowanceStore } from '@hookferry/core/accounts/redis-allowance-store';
import type { Emit } from '@hookferry/core/domain/signal';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import { SAME_AS_KEY } from '@hookferry/core/platform/duration';
import type { NewId } from '@hookferry/core/platform/ids';
import type { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { createRedisIdempotencyStore, KEPT_MS } from '@hookferry/core/publish/redis-idempotency-store';
import { InspectedQueues } from '@hookferry/core/queue/bullmq-inspected-queues';
import { createApp } from './app';
import { composeRoutes } from './compose-routes';
import type { ApiConfig } from './config';
import { PORTAL_FOLDER } from './http/portal';
import type { Drain, ProbeOptions } from './http/probes';
import { openStores, type StoresContext } from './open-stores';

export interface AppContext extends StoresContext {
  readonly authenticate: AuthenticateClient;
  readonly recheck: Authenticate;
  readonly exchangeCode: ExchangeOfClient;
  readonly probes: ProbeOptions;
  readonly connectionHealth: ConnectionHealth;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly drain: Drain;
  readonly newId: NewId;
}

// The body of a request holds the event and a little around it: white space, the names of the members.
const ENVELOPE_BYTES = 4 * 1024;

/** Builds what the API can do, over connections that stand; `streams` have to end before the server can, `parts` after it. */
export function composeApp(context: AppContext) {
  const { config, redis, shards, authenticate, probes, drain, beginSpan, newId, clock, emit } = context;
  warnOfAnyHost(config, emit);
  const stores = openStores(context);
  const { accountStore, subscriptions, quota, usageRecorder } = stores;
  const actFor = createActFor(accountStore);
  const { routes, streams } = composeRoutes({ ...context, actFor }, stores);
  const inspectedQueues = config.QUEUE_INSPECTOR_ENABLED ? new InspectedQueues(redis, shards) : undefined;
  const app = createApp({
    routes,
    probes,
    drain,
    authenticate,
    actFor,
    readEndpointsVersion: subscriptions.readVersion,
    quota,
    idempotencyStore: createRedisIdempotencyStore(redis, (accountId, bytes) =>
      usageRecorder.note(accountId, 'answers', bytes, clock(), KEPT_MS),
    ),
    limitRate: createLimitRate({
      allowanceStore: createRedisAllowanceStore(redis),
      ofKey: config.RATE_LIMIT,
      ofAccount: config.ACCOUNT_RATE_LIMIT === SAME_AS_KEY ? config.RATE_LIMIT : config.ACCOUNT_RATE_LIMIT,
      clock,
    }),
    trustProxy: config.TRUST_PROXY,
    hasDocs: config.DOCS_ENABLED,
    portal: config.PORTAL
      ? { folder: PORTAL_FOLDER, frameAncestors: config.PORTAL_FRAME_ANCESTORS }
      : undefined,
    inspectedQueues,
    beginSpan,
    maxBodyBytes: config.MAX_EVENT_BYTES + ENVELOPE_BYTES,
    newId,
    clock,
    emit,
  });
  const inspector: Stoppable = {
    name: 'queue inspector',
    stop: async () => await inspectedQueues?.close(),
  };
  return { app, streams, parts: [inspector, ...stores.parts], quota };
}

// A process that listens to its own machine alone is being tried out, or has a proxy that passes on a host of its own.
const OWN_MACHINE = /^(?:localhost|127\..*|::1)$/;

function warnOfAnyHost({ PORTAL, PUBLIC_URL, API_HOST }: ApiConfig, emit: Emit): void {
  if (!PORTAL || PUBLIC_URL !== undefined || OWN_MACHINE.test(API_HOST)) return;
  emit({
    name: 'public_url.unset',
    detail:
      'PUBLIC_URL is not set: links to the portal begin with the host that the request for them names. Set it to the origin by which browsers reach the API.',
  });
}
