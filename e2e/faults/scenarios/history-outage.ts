import { setTimeout as wait } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { BULK_TYPE } from '../endpoints';
import type { Scene } from '../fault-scene';
import { historyObstacle } from '../kinds/history-faults';
import type { InjectedFault } from '../ledger';
import { Progress } from '../progress';
import { runService } from '../run-service';
import type { Scenario } from './scenario';

const NAME = 'history-outage';
const PATIENCE = { stuckAfterMs: 120_000, silentForMs: 60_000 };
const MOVE_AFTER_MS = 1_000;
const PER_SECOND = 100;
const USUAL_MINUTES = 10;
const WARM_UP_MS = 10_000;
const LOOK_EVERY_MS = 100;
const ENDED = 'over:{history}';
// What waits in any case: for HISTORY_MOVE_AFTER, and as long again.
const USUAL_BACKLOG = (PER_SECOND * 2 * MOVE_AFTER_MS) / 1_000;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** PostgreSQL is away for minutes under a constant load: what deliveries notice of it, and how fast it catches up. */
export const historyOutage: Scenario = {
  name: NAME,
  what: `PostgreSQL is away for ten minutes (--minutes) at ${PER_SECOND} events/s: how long deliveries take with and without it, and how fast the history catches up`,
  usualCount: 1,
  obstacle: async (mode) =>
    mode === 'durable' ? 'nothing is accepted while PostgreSQL is away' : historyObstacle(),
  run: async (setting) =>
    await runService({
      ...setting,
      specs: [{ name: 'swift', events: [BULK_TYPE], respondsAfterMs: 0, isPrompt: true }],
      rates: { bulk: PER_SECOND, volume: 0, sparse: 0, sequential: 0 },
      patience: PATIENCE,
      progress: new Progress(setting.fault),
      historyMoveAfterMs: MOVE_AFTER_MS,
      act: async (scene) => await goWithout(scene, (setting.minutes ?? USUAL_MINUTES) * 60_000),
    }),
};

/** Half of the time with it before the outage, and half after it: what else the machine does hits both alike, if anything. */
async function goWithout(scene: Scene, awayMs: number): Promise<readonly InjectedFault[]> {
  const { service, publisher } = scene;
  const redis = service.deployment.connect({ maxRetriesPerRequest: null });
  publisher.start();
  await wait(WARM_UP_MS);
  const before = await during(awayMs / 2);
  const bytesBefore = await usedBytes(redis);
  await service.history.stop();
  const away = await during(awayMs);
  const [backlog, bytes] = [await redis.zcard(ENDED), (await usedBytes(redis)) - bytesBefore];
  await service.history.mend();
  const caughtUp = await catchUp(redis, publisher);
  const after = await during(awayMs / 2);
  redis.disconnect();
  const [having, lacking] = [lagsWithin(scene, [before, after]), lagsWithin(scene, [away])];
  const ratio = at(lacking, 0.99) / at(having, 0.99);
  const perSecond = caughtUp.moved / caughtUp.seconds;
  const lines = [
    `with PostgreSQL: ${describe(having)}`,
    `${awayMs / 60_000} min without: ${describe(lacking)}; p99 ${ratio.toFixed(2)} ×`,
    `backlog ${backlog}, ${Math.round(bytes / backlog)} bytes of Redis each; moved ${perSecond.toFixed(0)} a second until it had caught up after ${caughtUp.seconds.toFixed(1)} s: ${(perSecond / caughtUp.incoming).toFixed(1)} × what came in`,
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
  return [{ kind: NAME, victim: 'PostgreSQL', mayRepeat: false, startedAt: away.from, endedAt: away.to }];
}

async function during(ms: number): Promise<Span> {
  const from = Date.now();
  await wait(ms);
  return { from, to: Date.now() };
}

async function catchUp(redis: Redis | Cluster, publisher: Scene['publisher']) {
  const [from, backlog, before] = [Date.now(), await redis.zcard(ENDED), publisher.acknowledgedCount];
  for (;;) {
    const left = await redis.zcard(ENDED);
    const seconds = (Date.now() - from) / 1_000;
    const came = publisher.acknowledgedCount - before;
    if (left <= USUAL_BACKLOG) return { seconds, moved: backlog + came - left, incoming: came / seconds };
    await wait(LOOK_EVERY_MS);
  }
}

/** From when it was sent to the API until it was at its receiver; of all that was sent in these times. */
function lagsWithin({ receivers, publisher }: Scene, spans: readonly Span[]): readonly number[] {
  return receivers.requests
    .flatMap(({ marker, arrivedAt, attempt }) => {
      const madeAt = publisher.published.get(marker)?.madeAt ?? 0;
      const isWithin = spans.some(({ from, to }) => madeAt >= from && madeAt < to);
      return isWithin && attempt === 1 ? [arrivedAt - madeAt] : [];
    })
    .sort((a, b) => a - b);
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

function describe(sorted: readonly number[]): string {
  return `${sorted.length} deliveries, p50 ${at(sorted, 0.5)} ms, p95 ${at(sorted, 0.95)} ms, p99 ${at(sorted, 0.99)} ms`;
}

async function usedBytes(redis: Redis | Cluster): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1] ?? 0);
}
