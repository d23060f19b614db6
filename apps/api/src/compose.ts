import { once } from 'node:events';
import { keepCopies } from '@hookferry/core/accounts/redis-record-copies';
import { closesOf, listenersOf, stopsOf } from '@hookferry/core/core/capability';
import { createEmit, type Emit, type SignalListener } from '@hookferry/core/domain/signal';
import { checkHistory } from '@hookferry/core/history/moved-history';
import { PauseWatch } from '@hookferry/core/operations/pause-watch';
import { untilRedisAnswers } from '@hookferry/core/platform/redis-probe';
import type { Stoppable } from '@hookferry/core/platform/timers';
import type { Tracing } from '@hookferry/core/telemetry/otel-tracing';
import { createApp, messageClassesOf } from './app';
import { capabilities } from './capabilities';
import type { ApiConfig } from './config';
import { openContext } from './context';
import type { ApiCapability } from './http/capability';
import { HttpServer } from './http/http-server';

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
  const { context, parts } = openContext(config, emit, tracing?.beginSpan);
  const { redis, confirmation, redisClock, shards, bootstrap, drain, movedHistory, newId } = context;
  const opened: readonly ApiCapability[] = [
    ...(tracing ? [tracing] : []),
    ...capabilities.map((each) => each.open(context)),
  ];
  listeners.push(...listenersOf(opened));

  await untilRedisAnswers(context.redisProbe);
  await redisClock.start();
  warnOfAnyHost(config, emit);
  const checked = movedHistory && checkHistory(movedHistory, emit);
  await Promise.all([shards.start(), bootstrap.start(), checked]);
  // Only now: the first account and key are made of settings, also before a worker has made the tables. A worker copies them.
  if (context.configurationCopy) keepCopies(redis, context.configurationCopy);
  const pauseWatch = new PauseWatch(context);
  pauseWatch.start();
  for (const capability of opened) capability.start?.();
  const app = createApp(context, opened);
  const messageClasses = messageClassesOf(app);
  const server = new HttpServer(app, { maxConnections: config.MAX_CONNECTIONS, messageClasses, newId, emit });
  server.listen(config.API_PORT, config.API_HOST);
  await once(server, 'listening');

  return {
    emit,
    port: portOf(server),
    parts: [
      { name: 'drain', stop: () => drain.stop() },
      ...stopsOf(opened),
      { name: 'http server', stop: () => server.stop(config.SHUTDOWN_TIMEOUT) },
      ...parts,
      ...closesOf(opened),
      { name: 'pause watch', stop: () => pauseWatch.stop() },
      { name: 'shards', stop: () => shards.stop() },
      { name: 'clock', stop: () => redisClock.stop() },
      {
        name: 'connection',
        stop: async () => {
          confirmation?.close();
          redis.disconnect();
        },
      },
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

function portOf(server: HttpServer): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
