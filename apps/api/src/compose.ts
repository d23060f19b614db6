import { once } from 'node:events';
import { ensureDefaultAccount } from '@hookferry/core/accounts/api-keys';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/domain/signal';
import { checkHistory } from '@hookferry/core/history/moved-history';
import { AccountLoads } from '@hookferry/core/operations/account-loads';
import { DayStore } from '@hookferry/core/operations/redis-day-store';
import { steadyClock } from '@hookferry/core/platform/clock';
import { createNewId } from '@hookferry/core/platform/ids';
import { createAtomic } from '@hookferry/core/platform/redis-atomic';
import { RedisClock } from '@hookferry/core/platform/redis-clock';
import {
  connectRedis,
  createRedisProbe,
  queuePrefix,
  untilRedisAnswers,
} from '@hookferry/core/platform/redis-connect';
import { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import { watchRedisSafety } from '@hookferry/core/platform/redis-safety';
import { repeatUntilDone, type Stoppable } from '@hookferry/core/platform/timers';
import { LayoutStore } from '@hookferry/core/queue/redis-layout-store';
import { ShardsInForce } from '@hookferry/core/queue/shards-in-force';
import { API_GATHER_MS, ChangeFeed } from '@hookferry/core/stream/change-feed';
import { ChangeStore } from '@hookferry/core/stream/redis-change-store';
import type { Tracing } from '@hookferry/core/telemetry/otel-tracing';
import { registerPromGauges } from '@hookferry/core/telemetry/prom-gauges';
import {
  createPromRegistry,
  processGauges,
  readEventLoopLagMs,
} from '@hookferry/core/telemetry/prom-registry';
import { apiSignalMetrics, registerPromSignalMetrics } from '@hookferry/core/telemetry/prom-signal-metrics';
import { createApp, messageClassesOf } from './app';
import type { ApiConfig } from './config';
import { openContext } from './context';
import { HttpServer } from './http/http-server';
import { Drain, Scrapes } from './http/probes';

export interface Api {
  readonly emit: Emit;
  /** The port that it listens on, which differs from the configured one if that is 0. */
  readonly port: number;
  /** In the order in which they must stop. */
  readonly parts: readonly Stoppable[];
}

/** Build the API, and start it once Redis replies: earlier clients would be refused. */
export async function composeApi(
  config: ApiConfig,
  listeners: readonly SignalListener[],
  tracing?: Tracing,
): Promise<Api> {
  const registry = createPromRegistry();
  const spans = tracing ? [tracing.listen] : [];
  const emit = createEmit([
    ...listeners,
    registerPromSignalMetrics(registry, apiSignalMetrics),
    ...spans,
    (signal) => changeFeed.listen(signal),
    (signal) => accountLoads.listen(signal),
  ]);
  const connectionHealth = new ConnectionHealth();
  const redis = connectRedis({
    url: config.REDIS_URL,
    role: 'answering',
    name: 'api',
    health: connectionHealth,
    emit,
  });
  const redisClock = new RedisClock({ redis, emit });
  const clock = redisClock.now;
  const newId = createNewId(clock);
  const changeFeed = new ChangeFeed({
    changeStore: new ChangeStore(redis),
    gatherMs: API_GATHER_MS,
    clock,
    emit,
  });
  const atomic = createAtomic(redis);
  const accountLoads = new AccountLoads({ dayStore: new DayStore(redis, atomic), clock, emit });
  watchRedisSafety(redis, emit);
  const isRedisAnswering = createRedisProbe(redis);
  await untilRedisAnswers(isRedisAnswering);
  await redisClock.start();

  const firstPrefix = queuePrefix(config.REDIS_URL);
  const layoutStore = new LayoutStore(redis, firstPrefix);
  const wanted = config.QUEUE_SHARDS;
  const shards = new ShardsInForce({ layoutStore, wanted, firstPrefix, atomic, emit });

  const drain = new Drain(config.DRAIN_DELAY);

  const scrapes = new Scrapes(clock);
  const { context, streams, parts } = openContext({
    config,
    redis,
    connectionHealth,
    shards,
    atomic,
    probes: {
      registry,
      scrapes,
      stuckConnection: () => connectionHealth.stuckConnection,
      isReady: async () =>
        !drain.isDraining &&
        bootstrap.isDone() &&
        shards.known !== undefined &&
        redisClock.isTrusted &&
        (await isRedisAnswering()),
    },
    drain,
    beginSpan: tracing?.beginSpan,
    newId,
    clock,
    redisClock,
    emit,
  });
  const bootstrap = repeatUntilDone(async () => {
    await ensureDefaultAccount(context.accountStore, clock);
    const key = config.BOOTSTRAP_API_KEY;
    if (key !== undefined) await context.apiKeys.ensureBootstrapKey(key);
  });
  warnOfAnyHost(config, emit);
  const { movedHistory } = context;
  const checked = movedHistory && checkHistory(movedHistory, emit);
  await Promise.all([shards.start(), bootstrap.tried, checked]);
  registerPromGauges(registry, processGauges, {
    standings: () => context.quota.standings(),
    ping: () => redis.ping(),
    eventLoopLagMs: () => readEventLoopLagMs(registry),
    skewMs: () => redisClock.skewMs,
    clock: steadyClock,
  });
  const app = createApp(context);
  const server = await listen(
    new HttpServer(app, {
      maxConnections: config.MAX_CONNECTIONS,
      messageClasses: messageClassesOf(app),
      newId,
      emit,
    }),
    config,
  );

  return {
    emit,
    port: portOf(server),
    parts: [
      { name: 'drain', stop: () => drain.stop() },
      ...streams,
      { name: 'http server', stop: () => server.stop(config.SHUTDOWN_TIMEOUT) },
      { name: 'bootstrap', stop: async () => bootstrap.stop() },
      ...parts,
      { name: 'account loads', stop: () => accountLoads.stop() },
      { name: 'change feed', stop: () => changeFeed.stop() },
      { name: 'shards', stop: () => shards.stop() },
      { name: 'clock', stop: () => redisClock.stop() },
      { name: 'connection', stop: async () => redis.disconnect() },
      ...(tracing ? [{ name: 'tracing', stop: () => tracing.stop() }] : []),
    ],
  };
}

// A process that listens to its own machine only is a trial, or has a proxy that passes on a host of its own.
const OWN_MACHINE = /^(?:localhost|127\..*|::1)$/;

function warnOfAnyHost({ PORTAL, PUBLIC_URL, API_HOST }: ApiConfig, emit: Emit): void {
  if (!PORTAL || PUBLIC_URL !== undefined || OWN_MACHINE.test(API_HOST)) return;
  emit({
    name: 'public_url.unset',
    detail:
      'PUBLIC_URL is not set, so links to the portal begin with the host that the request for a link names. Set it to the origin at which browsers reach the API, such as https://hooks.example.com.',
  });
}

async function listen(server: HttpServer, { API_HOST, API_PORT }: ApiConfig): Promise<HttpServer> {
  server.listen(API_PORT, API_HOST);
  await once(server, 'listening');
  return server;
}

function portOf(server: HttpServer): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
