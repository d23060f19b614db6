import { AuthFailures } from '@hookferry/core/accounts/authentication';
import { HeavyTurns } from '@hookferry/core/accounts/heavy-turns';
import { RateLimit } from '@hookferry/core/accounts/limit-rate';
import { AllowanceStore } from '@hookferry/core/accounts/redis-allowance-store';
import { openCore } from '@hookferry/core/core/open-core';
import { AddressPolicy } from '@hookferry/core/deliver/egress/address-policy';
import type { QueueShards } from '@hookferry/core/domain/queues';
import type { Emit } from '@hookferry/core/domain/signal';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import { Trials } from '@hookferry/core/history/trials';
import { type Clock } from '@hookferry/core/platform/clock';
import { SAME_AS_KEY } from '@hookferry/core/platform/duration';
import type { NewId } from '@hookferry/core/platform/ids';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import type { RedisClock } from '@hookferry/core/platform/redis-clock';
import type { RedisClient } from '@hookferry/core/platform/redis-connect';
import type { ConnectionHealth } from '@hookferry/core/platform/redis-keeper';
import type { Stoppable } from '@hookferry/core/platform/timers';
import { InspectedQueues } from '@hookferry/core/queue/bullmq-inspected-queues';
import { TransformPool } from '@hookferry/core/transform/transform-pool';
import { transformLimitsOf } from '@hookferry/core/transform/transform-settings';
import { Transformations } from '@hookferry/core/transform/transformations';
import type { ApiConfig } from './config';
import { LongAnswers, UnreadAnswers } from './http/long-requests';
import type { Drain, ProbeOptions } from './http/probes';

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

// A page takes milliseconds; the writer is for erasures.
const DATABASE = { applicationName: 'hookferry-api', readers: 5, writers: 1 };

// Somebody waits for each of them. No account can use up the room of all others.
const TRIALS_WAITING = { maxWaitingOfAccount: 8, maxWaiting: 100 };

/** Open all that the API's routes need. Nothing is started. `parts` stop after the HTTP server, in their order. */
export function openContext(process: ProcessContext) {
  const { config, redis, shards, clock, emit } = process;
  const heavyTurns = new HeavyTurns();
  const authFailures = config.AUTH_FAILURE_LIMIT
    ? new AuthFailures({ allowance: config.AUTH_FAILURE_LIMIT, clock })
    : undefined;
  const { stores, recorders, connections, ...modules } = openCore({
    ...process,
    maxEventBytes: config.MAX_EVENT_BYTES,
    database: DATABASE,
    heavyTurns,
    authFailures,
  });
  const inspectedQueues = config.QUEUE_INSPECTOR_ENABLED ? new InspectedQueues(redis, shards) : undefined;
  const transformPool = new TransformPool({ limits: transformLimitsOf(config, TRIALS_WAITING), emit });
  const parts: readonly Stoppable[] = [
    { name: 'queue inspector', stop: async () => await inspectedQueues?.close() },
    { name: 'transformations', stop: () => transformPool.close() },
    ...recorders,
    ...connections,
  ];
  const context = {
    ...process,
    ...stores,
    ...modules,
    inspectedQueues,
    transformPool,
    transformations: new Transformations({ ...stores, transformPool }),
    trials: new Trials({ ...stores, eventTypes: modules.eventTypes, transformPool }),
    longAnswers: new LongAnswers(),
    unreadAnswers: new UnreadAnswers(),
    heavyTurns,
    urlRules: urlRulesOf(config),
    rateLimit: new RateLimit({
      allowanceStore: new AllowanceStore(redis),
      ofKey: config.RATE_LIMIT,
      ofAccount: config.ACCOUNT_RATE_LIMIT === SAME_AS_KEY ? config.RATE_LIMIT : config.ACCOUNT_RATE_LIMIT,
      clock,
    }),
  };
  return { context, parts };
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
