import { HeavyTurns } from '@hookferry/core/accounts/heavy-turns';
import { RateLimit } from '@hookferry/core/accounts/limit-rate';
import { AllowanceStore } from '@hookferry/core/accounts/redis-allowance-store';
import { openCore } from '@hookferry/core/core/open-core';
import { openProcess, STOPPING, type Unready } from '@hookferry/core/core/open-process';
import { AddressPolicy } from '@hookferry/core/deliver/egress/address-policy';
import type { Emit } from '@hookferry/core/domain/signal';
import type { BeginSpan } from '@hookferry/core/domain/trace';
import { Trials } from '@hookferry/core/history/trials';
import { SAME_AS_KEY } from '@hookferry/core/platform/duration';
import { Repetition, type Stoppable } from '@hookferry/core/platform/timers';
import { InspectedQueues } from '@hookferry/core/queue/bullmq-inspected-queues';
import { TransformPool } from '@hookferry/core/transform/transform-pool';
import { transformLimitsOf } from '@hookferry/core/transform/transform-settings';
import { Transformations } from '@hookferry/core/transform/transformations';
import type { ApiConfig } from './config';
import { AccountShares } from './http/account-shares';
import { LongAnswers, UnreadAnswers } from './http/long-requests';
import { Drain, Scrapes } from './http/probes';

/** Everything that the API's routes and use cases need. Each function names the few members that it uses. */
export type ApiContext = ReturnType<typeof openContext>['context'];

// A page takes milliseconds; the writer is for erasures.
const DATABASE = { applicationName: 'hookferry-api', readers: 5, writers: 1 };

// Somebody waits for each of them. No account can use up the room of all others.
const TRIALS_WAITING = { maxWaitingOfAccount: 8, maxWaiting: 100 };

/**
 * Open all that the API's routes need. Nothing is started.
 *
 * @param beginSpan absent: traces are not wanted.
 * @returns beside it, `parts`, which stop after the HTTP server, in their order.
 */
export function openContext(config: ApiConfig, emit: Emit, beginSpan?: BeginSpan) {
  const confirmedBy = config.REDIS_CONFIRMED_BY;
  const own = openProcess({ config, role: 'answering', name: 'api', confirmedBy, emit });
  const { redis, shards, clock } = own;
  const heavyTurns = new HeavyTurns();
  const whenCopiesAreAway = 'refused';
  const core = openCore({ ...own, config, beginSpan, database: DATABASE, whenCopiesAreAway, heavyTurns });
  const { stores, recorders, connections, ...modules } = core;
  const inspectedQueues = config.QUEUE_INSPECTOR_ENABLED ? new InspectedQueues(redis, shards) : undefined;
  const transformPool = new TransformPool({ limits: transformLimitsOf(config, TRIALS_WAITING), emit });
  const bootstrap = new Repetition(async () => {
    await modules.accounts.ensureDefault();
    const key = config.BOOTSTRAP_API_KEY;
    if (key !== undefined) await modules.apiKeys.ensureBootstrapKey(key);
  });
  const drain = new Drain(config.DRAIN_DELAY);
  const probes = {
    scrapes: new Scrapes(clock),
    stuckConnection: () => own.connection.health.stuckConnection,
    whyUnready: async (): Promise<Unready | undefined> => {
      if (drain.isDraining) return STOPPING;
      const unready = await own.whyUnready();
      if (unready !== undefined || (bootstrap.isDone && shards.known !== undefined)) return unready;
      return { reason: 'starting', detail: 'The first account, its key or the shards are not known yet.' };
    },
  };
  const context = {
    ...stores,
    ...modules,
    ...own,
    config,
    beginSpan,
    bootstrap,
    drain,
    probes,
    inspectedQueues,
    transformPool,
    transformations: new Transformations({ ...stores, transformPool }),
    trials: new Trials({ ...stores, eventTypes: modules.eventTypes, transformPool }),
    longAnswers: new LongAnswers(),
    unreadAnswers: new UnreadAnswers(),
    heavyTurns,
    accountShares: new AccountShares(),
    urlRules: urlRulesOf(config),
    rateLimit: new RateLimit({
      allowanceStore: new AllowanceStore(redis),
      ofKey: config.RATE_LIMIT,
      ofAccount: config.ACCOUNT_RATE_LIMIT === SAME_AS_KEY ? config.RATE_LIMIT : config.ACCOUNT_RATE_LIMIT,
      clock,
    }),
  };
  const parts: readonly Stoppable[] = [
    { name: 'bootstrap', stop: () => bootstrap.stop() },
    { name: 'transformations', stop: () => transformPool.close() },
    ...recorders,
    ...connections,
  ];
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
