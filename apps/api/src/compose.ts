import { once } from 'node:events';
import { closesOf, listenersOf, stopsOf } from '@hookferry/core/core/capability';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/domain/signal';
import { checkHistory } from '@hookferry/core/history/moved-history';
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
import type { Tracing } from '@hookferry/core/telemetry/otel-tracing';
import { createApp, messageClassesOf } from './app';
import { capabilities } from './capabilities';
import type { ApiConfig } from './config';
import { openContext } from './context';
import type { ApiCapability } from './http/capability';
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
  given: readonly SignalListener[],
  tracing?: Tracing,
): Promise<Api> {
  const listeners = [...given];
  const emit = createEmit(listeners);
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
  const atomic = createAtomic(redis);
  watchRedisSafety(redis, emit);
  const isRedisAnswering = createRedisProbe(redis);

  const firstPrefix = queuePrefix(config.REDIS_URL);
  const layoutStore = new LayoutStore(redis, firstPrefix);
  const wanted = config.QUEUE_SHARDS;
  const shards = new ShardsInForce({ layoutStore, wanted, firstPrefix, atomic, emit });

  const drain = new Drain(config.DRAIN_DELAY);

  const { context, parts } = openContext({
    config,
    redis,
    connectionHealth,
    shards,
    atomic,
    probes: {
      scrapes: new Scrapes(clock),
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
  const opened: readonly ApiCapability[] = [
    ...(tracing ? [tracing] : []),
    ...capabilities.map((each) => each.open(context)),
  ];
  listeners.push(...listenersOf(opened));

  await untilRedisAnswers(isRedisAnswering);
  await redisClock.start();
  const bootstrap = repeatUntilDone(async () => {
    await context.accounts.ensureDefault();
    const key = config.BOOTSTRAP_API_KEY;
    if (key !== undefined) await context.apiKeys.ensureBootstrapKey(key);
  });
  warnOfAnyHost(config, emit);
  const { movedHistory } = context;
  const checked = movedHistory && checkHistory(movedHistory, emit);
  await Promise.all([shards.start(), bootstrap.tried, checked]);
  for (const capability of opened) capability.start?.();
  const app = createApp(context, opened);
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
      ...stopsOf(opened),
      { name: 'http server', stop: () => server.stop(config.SHUTDOWN_TIMEOUT) },
      { name: 'bootstrap', stop: async () => bootstrap.stop() },
      ...parts,
      ...closesOf(opened),
      { name: 'shards', stop: () => shards.stop() },
      { name: 'clock', stop: () => redisClock.stop() },
      { name: 'connection', stop: async () => redis.disconnect() },
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
