import { setTimeout as wait } from 'node:timers/promises';
import { RefusalStore, Refusals } from '@hookferry/core/accounts/audit/refusals';
import { AuthFailures } from '@hookferry/core/accounts/auth-failures';
import { KeyUses } from '@hookferry/core/accounts/authenticate';
import { RateLimit } from '@hookferry/core/accounts/limit-rate';
import { AllowanceStore } from '@hookferry/core/accounts/redis-allowance-store';
import { KnownAccounts } from '@hookferry/core/accounts/resolve-account';
import { openCore } from '@hookferry/core/core/open-core';
import { AddressPolicy } from '@hookferry/core/deliver/egress/address-policy';
import type { QueueShards } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import { countDisabled } from '@hookferry/core/endpoints/disable';
import { EventCounter } from '@hookferry/core/history/count-events';
import { RecentAttempts } from '@hookferry/core/history/count-recent';
import type { InTurn } from '@hookferry/core/history/history-source';
import { DayReader } from '@hookferry/core/operations/read-day';
import { OperationsReader } from '@hookferry/core/operations/read-operations';
import { DayStore } from '@hookferry/core/operations/redis-day-store';
import { WorkerReports } from '@hookferry/core/operations/redis-worker-reports';
import { Turns } from '@hookferry/core/platform/batches';
import { type Clock } from '@hookferry/core/platform/clock';
import { SAME_AS_KEY } from '@hookferry/core/platform/duration';
import type { NewId } from '@hookferry/core/platform/ids';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { RedisClock } from '@hookferry/core/platform/redis-clock';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import type { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { Assumptions } from '@hookferry/core/publish/redis-assumption';
import { IdempotencyStore, KEPT_MS } from '@hookferry/core/publish/redis-idempotency-store';
import { FanOuts } from '@hookferry/core/publish/store-fan-out';
import { InspectedQueues } from '@hookferry/core/queue/bullmq-inspected-queues';
import { TransformPool } from '@hookferry/core/transform/transform-pool';
import { transformLimitsOf } from '@hookferry/core/transform/transform-settings';
import type { ApiConfig } from './config';
import { HeavyTurns } from './http/heavy-turns';
import { LongAnswers, UnreadAnswers } from './http/long-requests';
import type { Drain, ProbeOptions } from './http/probes';
import { movedAttemptsOf, movedEventsOf } from './open-history';

/** The parts of the process before it opens anything in Redis. */
export interface ProcessContext {
  readonly config: ApiConfig;
  readonly redis: RedisClient;
  readonly connectionHealth: ConnectionHealth;
  readonly shards: QueueShards;
  readonly atomic: Atomic;
  readonly probes: ProbeOptions;
  readonly drain: Drain;
  /** Absent: traces are not wanted. */
  readonly beginSpan?: BeginSpan | undefined;
  readonly newId: NewId;
  /** That of Redis. */
  readonly clock: Clock;
  readonly redisClock: Pick<RedisClock, 'isTrusted' | 'requireTrusted' | 'skewMs'>;
  readonly emit: Emit;
}

/** Everything that the API's routes and use cases need. Each function names the few members that it uses. */
export type ApiContext = ReturnType<typeof openContext>['context'];

/** Open all stores and queues of the API. `parts` stop after the HTTP server, in their order. */
export function openContext(process: ProcessContext) {
  const { stores, parts } = openParts(process);
  return { context: { ...process, ...stores, ...openUseCases({ ...process, ...stores }) }, parts };
}

// A page takes milliseconds; the writer is for erasures.
const DATABASE = { applicationName: 'hookferry-api', readers: 5, writers: 1 };

// Somebody waits for each of them. No account can take the places of all others.
const TRIALS_WAITING = { maxWaitingOfAccount: 8, maxWaiting: 100 };

function openParts(process: ProcessContext) {
  const { config, redis, shards, clock, emit, atomic } = process;
  const heavyTurns = new HeavyTurns();
  const inTurn: InTurn = (accountId, work) => heavyTurns.run(accountId, work);
  const { stores, recorders, connections, ...modules } = openCore({ ...process, database: DATABASE, inTurn });
  const { quota, usageRecorder, eventStore, deliveryStore, auditBounds, movedHistory } = stores;
  const inspectedQueues = config.QUEUE_INSPECTOR_ENABLED ? new InspectedQueues(redis, shards) : undefined;
  const transformPool = new TransformPool({ limits: transformLimitsOf(config, TRIALS_WAITING), emit });
  const refusals = new Refusals({ refusalStore: new RefusalStore(redis), bounds: auditBounds, clock, emit });
  const parts: readonly Stoppable[] = [
    { name: 'queue inspector', stop: async () => await inspectedQueues?.close() },
    { name: 'transformations', stop: () => transformPool.close() },
    { name: 'refusals', stop: () => refusals.stop() },
    ...recorders,
    ...connections,
  ];
  const movedEvents = movedHistory && movedEventsOf(movedHistory);
  const context = {
    ...stores,
    ...modules,
    movedAttempts: movedHistory && movedAttemptsOf(movedHistory),
    movedEvents,
    maxEventBytes: config.MAX_EVENT_BYTES,
    assumptions: new Assumptions(redis, {
      atomic,
      defaultQuotaBytes: config.ACCOUNT_QUOTA_BYTES,
      noteStanding: (accountId, standing) => quota.note(accountId, standing),
    }),
    routingTurns: new Turns(),
    fanOuts: new FanOuts(),
    fanOutTurns: new Turns(),
    keyLeadMs: config.SIGNING_KEY_LEAD,
    inspectedQueues,
    movedAuditLog: stores.pgAuditLog,
    refusals,
    allowanceStore: new AllowanceStore(redis),
    idempotencyStore: new IdempotencyStore(redis, (accountId, bytes) =>
      usageRecorder.note(accountId, 'answers', bytes, clock(), KEPT_MS),
    ),
    recentAttempts: new RecentAttempts({ eventStore, deliveryStore, inTurn }),
    eventCounter: new EventCounter({ eventStore, movedEvents, clock }),
    transformPool,
    workerReports: new WorkerReports(redis),
    dayStore: new DayStore(redis),
    knownAccounts: new KnownAccounts(),
    longAnswers: new LongAnswers(),
    wait: (ms: number) => wait(ms),
    unreadAnswers: new UnreadAnswers(),
    heavyTurns,
    urlRules: urlRulesOf(config),
    maxEndpoints: config.MAX_WEBHOOKS,
  };
  return { stores: context, parts };
}

function urlRulesOf(config: ApiConfig) {
  return {
    retentionMs: config.RETENTION,
    allowHttp: config.ALLOW_HTTP_URLS,
    allowInternalNames: config.DELIVERY_ALLOWED_CIDRS.length > 0,
    addressPolicy: new AddressPolicy({
      allowedCidrs: config.DELIVERY_ALLOWED_CIDRS,
      deniedCidrs: config.DELIVERY_DENIED_CIDRS,
    }),
  };
}

type StoresContext = ProcessContext & ReturnType<typeof openParts>['stores'];

/** The parts with a state in memory. */
function openUseCases(stores: StoresContext) {
  const { config, allowanceStore, clock } = stores;
  const context = stores;
  return {
    keyUses: new KeyUses(stores.apiKeyStore, clock),
    authFailures: config.AUTH_FAILURE_LIMIT
      ? new AuthFailures({ allowance: config.AUTH_FAILURE_LIMIT, clock })
      : undefined,
    rateLimit: new RateLimit({
      allowanceStore,
      ofKey: config.RATE_LIMIT,
      ofAccount: config.ACCOUNT_RATE_LIMIT === SAME_AS_KEY ? config.RATE_LIMIT : config.ACCOUNT_RATE_LIMIT,
      clock,
    }),
    operationsReader: new OperationsReader({ ...context, countDisabled: () => countDisabled(context) }),
    dayReader: new DayReader(context),
  };
}
