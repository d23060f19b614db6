import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { VOLUME_ENDPOINT, VOLUME_TYPE } from '../endpoints';
import type { Scene } from '../fault-scene';
import type { InjectedFault } from '../ledger';
import { Progress } from '../progress';
import type { Publisher } from '../publisher';
import { startRedisOnDisk } from '../redis/single-redis';
import { type Patience, runService } from '../run-service';
import type { Scenario } from './scenario';

const NAME = 'sync-cost';
const PATIENCE: Patience = { stuckAfterMs: 240_000, silentForMs: 60_000 };
const POLICIES = ['everysec', 'always'] as const;
// By turns, so that whatever else the machine does hits both alike.
const TURNS = 6;
const TURN_MS = 6_000;
const SETTLE_MS = 1_000;
const PUBLISHERS = 32;

type Policy = (typeof POLICIES)[number];

/** What it costs that Redis syncs before it replies: 32 publishers, each of which waits for its response. */
export const syncCost: Scenario = {
  name: NAME,
  what: 'nothing is broken: how much is accepted with appendfsync everysec and always, by turns',
  usualCount: 1,
  run: async (setting) =>
    await runService({
      ...setting,
      specs: [{ name: VOLUME_ENDPOINT, events: [VOLUME_TYPE], respondsAfterMs: 0, isPrompt: true }],
      rates: { bulk: 0, volume: 1, sparse: 0, sequential: 0 },
      patience: PATIENCE,
      progress: new Progress(setting.fault),
      startRedis: startRedisOnDisk,
      act: measureByTurns,
    }),
};

async function measureByTurns({ service, publisher }: Scene): Promise<readonly InjectedFault[]> {
  const tookMs: Record<Policy, number[]> = { everysec: [], always: [] };
  const startedAt = Date.now();
  const client = new Redis(service.redis.port, '127.0.0.1');
  for (let turn = 0; turn < TURNS * POLICIES.length; turn += 1) {
    const policy = POLICIES[turn % POLICIES.length] ?? 'everysec';
    await client.config('SET', 'appendfsync', policy);
    await wait(SETTLE_MS);
    tookMs[policy].push(...(await publishFor(publisher, TURN_MS)));
  }
  client.disconnect();
  for (const policy of POLICIES) process.stderr.write(`${describe(policy, tookMs[policy])}\n`);
  return [{ kind: NAME, victim: 'nobody', mayRepeat: false, startedAt, endedAt: Date.now() }];
}

/** How long each publish took that got its response within this time. */
async function publishFor(publisher: Publisher, forMs: number): Promise<readonly number[]> {
  const until = performance.now() + forMs;
  const tookMs: number[] = [];
  const publishers = Array.from({ length: PUBLISHERS }, async () => {
    while (performance.now() < until) {
      const sentAt = performance.now();
      await publisher.publishUntilAcknowledged(publisher.prepare(VOLUME_TYPE));
      tookMs.push(performance.now() - sentAt);
    }
  });
  await Promise.all(publishers);
  return tookMs;
}

function describe(policy: Policy, tookMs: readonly number[]): string {
  const sorted = [...tookMs].sort((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
  const perSecond = (tookMs.length / ((TURNS * TURN_MS) / 1_000)).toFixed(0);
  return `appendfsync ${policy}: ${perSecond} events/s accepted, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}
