import type { Capability } from '@hookferry/core/core/capability';
import type { Core } from '@hookferry/core/core/open-core';
import type { openDelivery } from '@hookferry/core/deliver/open-delivery';
import type { Transport } from '@hookferry/core/domain/transport';
import { HandOver } from '@hookferry/core/listeners/hand-over';
import { ListenerStore } from '@hookferry/core/listeners/redis-listener-store';
import { RedisMailbox } from '@hookferry/core/listeners/redis-mailbox';
import type { MessageSettings } from '@hookferry/core/notifications/compose-message';
import { Mailer } from '@hookferry/core/notifications/nodemailer-mailer';
import { Notifier } from '@hookferry/core/notifications/notifier';
import { ContactStore } from '@hookferry/core/notifications/redis-contact-store';
import { NotificationStore } from '@hookferry/core/notifications/redis-notification-store';
import { AccountLoads } from '@hookferry/core/operations/account-loads';
import { steadyClock } from '@hookferry/core/platform/clock';
import type { NewId } from '@hookferry/core/platform/ids';
import type { RedisClock } from '@hookferry/core/platform/redis-clock';
import type { ConnectOptions } from '@hookferry/core/platform/redis-connect';
import type { RedisProbe } from '@hookferry/core/platform/redis-probe';
import { createKeepFor } from '@hookferry/core/platform/timers';
import type { RejectedEvents } from '@hookferry/core/queue/bullmq-rejected-events';
import { ChangeFeed, WORKER_GATHER_MS } from '@hookferry/core/stream/change-feed';
import { ChangeStore } from '@hookferry/core/stream/redis-change-store';
import { registerPromGauges } from '@hookferry/core/telemetry/prom-gauges';
import { createProcessRegistry, createPromRegistry } from '@hookferry/core/telemetry/prom-registry';
import {
  ReadingsStore,
  readRedisLoads,
  registerPromSharedGauges,
  SharedReadings,
  type SharedSources,
  sharedGauges,
} from '@hookferry/core/telemetry/prom-shared-gauges';
import {
  registerPromSignalMetrics,
  workerSignalMetrics,
} from '@hookferry/core/telemetry/prom-signal-metrics';
import { AccountShares, workerGauges } from '@hookferry/core/telemetry/prom-worker-gauges';
import type { Registry } from 'prom-client';
import type { WorkerConfig } from './config';

/** One that this process has opened. */
export interface WorkerCapability extends Capability {
  /** `/metrics` shows it. */
  readonly registry?: Registry;
  /** Sends requests that are for a listener. */
  readonly toListeners?: Transport;
}

/** What a worker has opened before its capabilities. */
export interface WorkerCore extends Omit<Core, 'stores'>, Stores {
  readonly config: WorkerConfig;
  /** The options of its connection to Redis, for others that block. */
  readonly connection: ConnectOptions;
  readonly workerId: string;
  readonly redisProbe: RedisProbe;
  readonly redisClock: RedisClock;
  readonly newId: NewId;
  readonly rejectedEvents: RejectedEvents;
  readonly delivery: ReturnType<typeof openDelivery>;
  /** How long after its end a delivery moves to the history. */
  readonly moveAfterMs: number;
}

type Stores = Core['stores'];

interface ListedCapability {
  open(core: WorkerCore): WorkerCapability;
}

const metrics: ListedCapability = {
  open(core) {
    const { redis, workerId, delivery, config } = core;
    const { slots } = delivery;
    const { concurrency } = delivery.parts;
    const registry = createProcessRegistry(core, { service: 'worker', revision: config.HOOKFERRY_REVISION });
    const shares = new AccountShares(steadyClock);
    const count = registerPromSignalMetrics(registry, workerSignalMetrics);
    registerPromGauges(registry, workerGauges, { slots, concurrency, shares });
    const store = new ReadingsStore(redis, workerId);
    registerPromSharedGauges(registry, new SharedReadings(store, sharedGauges, sharedSourcesOf(core)));
    return {
      name: 'metrics',
      registry,
      listen(signal) {
        count(signal);
        shares.listen(signal);
      },
    };
  },
};

const accountLoads: ListedCapability = { open: (core) => new AccountLoads(core) };

const notifications: ListedCapability = {
  open(core) {
    const { config, redis, atomic, sealer, delivery, rejectedEvents } = core;
    const mailer = openMailer(config);
    const notifier = new Notifier({
      ...core,
      ...delivery,
      ...delivery.parts,
      contactStore: new ContactStore(redis, sealer),
      notificationStore: new NotificationStore(redis, atomic),
      mailer,
      messageSettings: messageSettingsOf(config),
      userAgent: delivery.parts.requestStyle.userAgent,
      failingAfterMs: config.NOTIFY_FAILING_AFTER,
      ratePolicy: { below: config.NOTIFY_SUCCESS_BELOW / 100, forMs: config.NOTIFY_SUCCESS_BELOW_FOR },
      readNewestDeadLetter: () => rejectedEvents.newestAt(),
    });
    return {
      name: 'notifications',
      start: () => notifier.start(),
      stop: () => notifier.stop(),
      close: async () => mailer?.close(),
    };
  },
};

const listeners: ListedCapability = {
  open(core) {
    const { config, redis } = core;
    const mailbox = new RedisMailbox(core);
    const handOver = new HandOver({
      listenerStore: new ListenerStore(redis),
      mailbox,
      timeoutMs: config.DELIVERY_TIMEOUT,
      keptBytes: config.RESPONSE_BYTES_KEPT,
    });
    return { name: 'listeners', toListeners: handOver.send, close: () => mailbox.close() };
  },
};

const stream: ListedCapability = {
  open({ redis, clock, emit }) {
    const changeStore = new ChangeStore(redis);
    const changeFeed = new ChangeFeed({ changeStore, gatherMs: WORKER_GATHER_MS, clock, emit });
    return { name: 'stream of changes', listen: changeFeed.listen, close: () => changeFeed.stop() };
  },
};

/** All that this worker can do beside its core. Nothing else names them. */
export const capabilities: readonly ListedCapability[] = [
  metrics,
  accountLoads,
  notifications,
  listeners,
  stream,
];

/** What `/metrics` shows. */
export function registryOf(opened: readonly WorkerCapability[]): Registry {
  return opened.find(({ registry }) => registry)?.registry ?? createPromRegistry();
}

/** Sends to listeners by the capability that can. @param opened it may be filled later. */
export function toListenersBy(opened: readonly WorkerCapability[]): Transport {
  return async (request, abortSignal) => {
    const send = opened.find(({ toListeners }) => toListeners)?.toListeners;
    if (send) return await send(request, abortSignal);
    return { kind: 'unsent', error: 'This worker sends nothing to listeners.' };
  };
}

function openMailer({
  SMTP_URL: smtpUrl,
  MAIL_FROM: from,
  OPERATOR_NAME: senderName,
}: WorkerConfig): Mailer | undefined {
  if (smtpUrl === undefined || from === undefined) return undefined;
  return new Mailer({ smtpUrl, from, senderName });
}

function messageSettingsOf(config: WorkerConfig): MessageSettings | undefined {
  const { PUBLIC_URL: publicUrl, OPERATOR_NAME: operatorName, PORTAL_ENTRY_URL: portalEntryUrl } = config;
  return publicUrl === undefined ? undefined : { publicUrl, operatorName, portalEntryUrl };
}

// One reading serves several gauges.
const LOADS_KEPT_MS = 1_000;

/** What one worker reads for all of them. */
function sharedSourcesOf(core: WorkerCore): SharedSources {
  const { redis, standings, heldCounts, scheduledQueue, openBreakers, clock } = core;
  const { endedList, moveAfterMs, pgIntake } = core;
  return {
    readDepths: () => standings.readDepths(),
    readOldestWaiting: () => standings.readOldestWaiting(clock()),
    readPaused: () => standings.readPaused(),
    readHeld: () => heldCounts.read(),
    readScheduled: createKeepFor(LOADS_KEPT_MS, () => scheduledQueue.readStanding(), steadyClock),
    countDisabledEndpoints: () => core.endpointHealth.countDisabled(),
    countOpenBreakers: () => openBreakers.count(clock()),
    readRedisLoads: createKeepFor(LOADS_KEPT_MS, () => readRedisLoads(redis), steadyClock),
    readRollbacks: () => core.rollbackStore.list(),
    history: endedList &&
      pgIntake && {
        count: () => endedList.count(),
        lateMs: async () => Math.max(clock() - moveAfterMs - ((await endedList.oldest()) ?? clock()), 0),
        countRefused: () => endedList.countRefused(),
        countOwed: () => pgIntake.countOwed(),
      },
  };
}
