import { once } from 'node:events';
import type { Server } from 'node:http';
import { createActFor } from '@webhooks/core/accounts/act-for';
import { ensureDefaultAccount } from '@webhooks/core/accounts/ensure-default-account';
import { createManageAccounts } from '@webhooks/core/accounts/manage-accounts';
import { createRedisAccountStore } from '@webhooks/core/accounts/redis-account-store';
import { createAuthenticate } from '@webhooks/core/api-keys/authenticate';
import { ensureBootstrapKey } from '@webhooks/core/api-keys/ensure-bootstrap-key';
import { createLimitAuthFailures } from '@webhooks/core/api-keys/limit-auth-failures';
import { createManageApiKeys } from '@webhooks/core/api-keys/manage-api-keys';
import { newApiKey } from '@webhooks/core/api-keys/new-api-key';
import { createNoteUse } from '@webhooks/core/api-keys/note-use';
import { createRedisApiKeyStore } from '@webhooks/core/api-keys/redis-api-key-store';
import { createReadDeliveries } from '@webhooks/core/deliveries/read-deliveries';
import { createRedisDeliveryStore } from '@webhooks/core/deliveries/redis-delivery-store';
import { createClassifyAddress } from '@webhooks/core/egress/classify-address';
import { createManageEndpoints } from '@webhooks/core/endpoints/manage-endpoints';
import { createRedisEndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import { newSecret } from '@webhooks/core/endpoints/secret';
import { createAcceptEvent } from '@webhooks/core/events/accept-event';
import { createRedisEventStore } from '@webhooks/core/events/redis-event-store';
import { createRedisGateStore } from '@webhooks/core/gates/redis-gate-store';
import { BullmqEventQueue } from '@webhooks/core/queue/bullmq-event-queue';
import { BullmqWakeQueue } from '@webhooks/core/queue/bullmq-wake-queue';
import { createLimitRate } from '@webhooks/core/rate-limit/limit-rate';
import { createRedisAllowanceStore } from '@webhooks/core/rate-limit/redis-allowance-store';
import { connectRedis, queuePrefix } from '@webhooks/core/redis/redis-connect';
import { createRedisProbe } from '@webhooks/core/redis/redis-probe';
import { systemClock } from '@webhooks/core/runtime/clock';
import { createNewId } from '@webhooks/core/runtime/ids';
import { repeatUntilDone } from '@webhooks/core/runtime/repeat-until-done';
import type { Stoppable } from '@webhooks/core/runtime/shutdown';
import { createPromApiMetrics } from '@webhooks/core/signals/prom-signal-metrics';
import { createEmit, type Emit, type SignalListener } from '@webhooks/core/signals/signals';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createApp } from './app';
import type { ApiConfig } from './config';
import { createHttpServer } from './http/http-server';
import { createRoutes } from './routes/index';

export interface Api {
  readonly emit: Emit;
  /** The port that it listens on, which differs from the configured one if that is 0. */
  readonly port: number;
  /** In the order in which they are to be stopped. */
  readonly parts: readonly Stoppable[];
}

// The body of a request holds the event and a little around it: white space, the names of the members.
const ENVELOPE_BYTES = 4 * 1024;

/** Builds and starts the API: the only place where its parts are made and wired. */
export async function composeApi(config: ApiConfig, listeners: readonly SignalListener[]): Promise<Api> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const emit = createEmit([...listeners, createPromApiMetrics(registry)]);
  const clock = systemClock;
  const newId = createNewId(clock);

  const connection = { url: config.REDIS_URL, role: 'answering', emit } as const;
  const storeRedis = connectRedis({ ...connection, name: 'api-store' });
  const queueRedis = connectRedis({ ...connection, name: 'api-queue' });

  const apiKeyStore = createRedisApiKeyStore(storeRedis);
  const accountStore = createRedisAccountStore(storeRedis);
  const endpointStore = createRedisEndpointStore(storeRedis);
  const eventStore = createRedisEventStore(storeRedis, config.RETENTION);
  const deliveryStore = createRedisDeliveryStore(storeRedis, {
    ageMs: config.RETENTION,
    count: config.RETENTION_COUNT,
  });
  const gateStore = createRedisGateStore(storeRedis);
  const queues = { redis: queueRedis, prefix: queuePrefix(config.REDIS_URL) };
  const eventQueue = new BullmqEventQueue(queues);
  const wakeQueue = new BullmqWakeQueue(queues, clock);

  const bootstrap = repeatUntilDone(async () => {
    await ensureDefaultAccount(accountStore, clock);
    const key = config.BOOTSTRAP_API_KEY;
    if (key !== undefined) await ensureBootstrapKey(key, apiKeyStore, clock);
  });
  const isStoreReachable = createRedisProbe(storeRedis);
  const isQueueReachable = createRedisProbe(queueRedis);

  const authenticate = createAuthenticate({
    apiKeyStore,
    noteUse: createNoteUse(apiKeyStore, clock),
    clock,
  });
  const { RATE_LIMIT, AUTH_FAILURE_LIMIT } = config;

  const app = createApp({
    routes: createRoutes({
      endpoints: createManageEndpoints({
        endpointStore,
        deliveryStore,
        gateStore,
        wakeQueue,
        newId,
        newSecret,
        clock,
      }),
      deliveries: createReadDeliveries({ endpointStore, eventStore, deliveryStore, gateStore }),
      acceptEvent: createAcceptEvent({ eventQueue, newId, clock, emit, maxBytes: config.MAX_EVENT_BYTES }),
      urlRules: {
        allowHttp: config.ALLOW_HTTP_URLS,
        allowInternalNames: config.DELIVERY_ALLOWED_CIDRS.length > 0,
        classifyAddress: createClassifyAddress({
          allowedCidrs: config.DELIVERY_ALLOWED_CIDRS,
          deniedCidrs: config.DELIVERY_DENIED_CIDRS,
        }),
      },
      apiKeys: createManageApiKeys({ apiKeyStore, newKey: newApiKey, clock }),
      accounts: createManageAccounts({ accountStore, newId, clock }),
      clock,
    }),
    probes: {
      registry,
      isReady: async () =>
        bootstrap.isDone() && (await Promise.all([isStoreReachable(), isQueueReachable()])).every(Boolean),
    },
    authenticate: AUTH_FAILURE_LIMIT
      ? createLimitAuthFailures({ authenticate, allowance: AUTH_FAILURE_LIMIT, clock })
      : authenticate,
    actFor: createActFor(accountStore),
    rateLimit: RATE_LIMIT && {
      allowance: RATE_LIMIT,
      limitRate: createLimitRate({
        allowanceStore: createRedisAllowanceStore(storeRedis, RATE_LIMIT),
        allowance: RATE_LIMIT,
        clock,
      }),
    },
    trustProxy: config.TRUST_PROXY,
    maxBodyBytes: config.MAX_EVENT_BYTES + ENVELOPE_BYTES,
    newId,
    clock,
    emit,
  });
  const server = await listen(
    createHttpServer(app, { maxConnections: config.MAX_CONNECTIONS, newId, emit }),
    config,
  );

  return {
    emit,
    port: portOf(server),
    parts: [
      { name: 'http server', stop: () => closeServer(server, config.SHUTDOWN_TIMEOUT) },
      { name: 'bootstrap', stop: async () => bootstrap.stop() },
      { name: 'queues', stop: async () => void (await Promise.all([eventQueue.close(), wakeQueue.close()])) },
      { name: 'queue connection', stop: async () => queueRedis.disconnect() },
      { name: 'store connection', stop: async () => storeRedis.disconnect() },
    ],
  };
}

async function listen(server: Server, { API_HOST, API_PORT }: ApiConfig): Promise<Server> {
  server.listen(API_PORT, API_HOST);
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Takes no new connections, answers what is under way, and after the deadline closes what is left. */
async function closeServer(server: Server, deadlineMs: number): Promise<void> {
  const closed = once(server, 'close');
  // So that a connection whose last answer is still to come does not stay open after it.
  server.keepAliveTimeout = 1;
  server.close();
  server.closeIdleConnections();
  const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearTimeout(deadline);
}
