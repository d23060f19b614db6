/** A million events that wait for their time: what each takes, what others notice, and when those begin that are due. */
import { setTimeout as wait } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { compareFigures, type Figure } from '../path/compare';
import { inShortTurns, type LoadFigures, measureSaturated, measureSteady, TURNS } from '../path/measure';
import { inTurn, onStage, onStages, STREAM, type Stage, serviceContender } from '../path/stage';
import type { SuiteOptions } from '../suite';
import { firstArrivals, type Latency, micros, summarise } from '../traffic/events';
import type { Batch, DueTimes } from '../traffic/sender';
import { loadFiguresOf, roundsOf, type Scene, WARM_UP_SHARE } from './scene';

const SIZE = { scheduled: 1_000_000, pending: 100_000, events: 20_000, due: 6_000, duePerSecond: 200 };
const SHORT_SIZE: typeof SIZE = {
  scheduled: 3_000,
  pending: 3_000,
  events: 400,
  due: 200,
  duePerSecond: 50,
};
// As many as the API takes in a request.
const BATCH = 500;
const BATCHES_AT_ONCE = 4;
const DAY_MS = 86_400_000;
// None of these becomes due while this lasts; they are spread over eleven days.
const FAR: DueTimes = { from: 10 * DAY_MS, everyMs: 1_000 };
// Until all of them are published.
const DUE_AFTER_MS = 5_000;
const LIMIT_MS = 120_000;
const SETTLE_MS = 1_000;
// While Redis has nothing else to do, it moves keys for a hundredth of the time, beside what it takes at rest.
const MOVING_SHARE = 0.008;
const LOOK_EVERY_MS = 10_000;
const MOVED_WITHIN_MS = 600_000;

/** What is measured of events that wait, and of events that do not. */
interface Result {
  /** Of Redis, for each. */
  readonly bytes: number;
  /** Of other events meanwhile. */
  readonly load: LoadFigures;
  /** From the time when one is due, or is published, until it is received. */
  readonly lag: Latency;
}

export const scheduled: Scene = {
  title: 'a million events that wait for their time, beside events that are sent at once',
  sides: ['without', 'scheduled'],

  async measure(options) {
    const plain: Result[] = [];
    const service: Result[] = [];
    for (let round = 1; round <= roundsOf(options); round += 1) {
      const [without, withThem] = await measureBoth(options);
      plain.push(without);
      service.push(withThem);
    }
    const load = compareFigures(
      loadFiguresOf('beside scheduled events', 1.05),
      plain.map((r) => r.load),
      service.map((r) => r.load),
    );
    return { verdicts: [...compareFigures(figures, plain, service), ...load], raw: { plain, service } };
  },
};

const figures: readonly Figure<Result>[] = [
  { name: 'scheduled: Redis memory of each, bytes', of: (r) => r.bytes, kind: 'ratio', atMost: 1 },
  { name: 'scheduled: due to received, p50, ms', of: (r) => r.lag.p50, kind: 'own', atMost: 1_000 },
  { name: 'scheduled: due to received, p99, ms', of: (r) => r.lag.p99, kind: 'own' },
];

/** One service with them and one without, each with processes of its own, in turn. */
async function measureBoth(options: SuiteOptions): Promise<readonly [Result, Result]> {
  const size = options.short ? SHORT_SIZE : SIZE;
  const many = options.deliveries ?? size.scheduled;
  const contender = serviceContender({ build: options.build });
  const pendingBytes = await onStage(contender, (stage) => measurePending(stage, size.pending));
  return await onStages([contender, contender], async (stages) => {
    const [, full] = stages;
    if (!full) throw new Error('There is no second service.');
    await inTurn(stages, (stage) => measureSaturated(stage, Math.round(size.events * WARM_UP_SHARE)));
    const bytes = await bytesOfEach(full, many, { ...FAR, from: Date.now() + FAR.from });
    process.stderr.write(`  ${many} wait, ${Math.round(bytes)} bytes each\n`);
    await untilAtRest(full);
    const loads = await inShortTurns(stages, (stage) =>
      measureSaturated(stage, Math.round(size.events / TURNS)),
    );
    const lag = await measureLag(full, size.due, size.duePerSecond);
    const [without, beside] = loads;
    if (!without || !beside) throw new Error('Nothing was measured.');
    const atOnce = await measureSteady(full, size.duePerSecond, size.due / size.duePerSecond);
    return [
      { bytes: pendingBytes, load: without, lag: atOnce },
      { bytes, load: beside, lag },
    ];
  });
}

/** What an event takes in Redis, with its delivery, while no worker takes it. */
async function measurePending(stage: Stage, events: number): Promise<number> {
  await measureSaturated(stage, BATCH);
  await stage.pair.worker.stop();
  return await bytesOfEach(stage, events);
}

async function bytesOfEach(stage: Stage, events: number, due?: DueTimes): Promise<number> {
  const redis = new Redis(stage.redis.url);
  const before = await usedMemory(redis);
  await publish(stage, 0, events, due);
  await wait(SETTLE_MS);
  const bytes = ((await usedMemory(redis)) - before) / events;
  redis.disconnect();
  return bytes;
}

/**
 * Redis moves its keys to a larger table after they have become many: until that has ended, each command costs up to twice as
 * much, whatever the keys are.
 */
async function untilAtRest({ redis }: Stage): Promise<void> {
  const giveUpAt = Date.now() + MOVED_WITHIN_MS;
  for (let isMoving = true; isMoving && Date.now() < giveUpAt; ) {
    const before = redis.cpuMs();
    await wait(LOOK_EVERY_MS);
    isMoving = redis.cpuMs() - before > LOOK_EVERY_MS * MOVING_SHARE;
  }
}

async function usedMemory(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}

async function publish(
  { sender, pair }: Stage,
  firstEvent: number,
  events: number,
  due?: DueTimes,
): Promise<void> {
  const batches = Array.from({ length: Math.ceil(events / BATCH) }, (_, i): Batch => {
    const first = i * BATCH;
    return {
      target: pair.target,
      firstEvent: firstEvent + first,
      events: Math.min(BATCH, events - first),
      ...(due && { due: { ...due, from: due.from + first * due.everyMs } }),
    };
  });
  await sender.publishBatches(batches, BATCHES_AT_ONCE);
}

/** Some become due at a steady rate. */
async function measureLag(stage: Stage, events: number, perSecond: number): Promise<Latency> {
  const { receiver } = stage;
  const firstEvent = await receiver.count(STREAM);
  const everyMs = 1_000 / perSecond;
  const from = Date.now() + DUE_AFTER_MS;
  // The receiver's clock has another zero.
  const offsetMs = Date.now() - micros() / 1_000;
  await publish(stage, firstEvent, events, { from, everyMs });
  if (Date.now() > from) throw new Error('Some were due before all of them were published.');
  const limitMs = DUE_AFTER_MS + events * everyMs + LIMIT_MS;
  if (!(await receiver.waitFor(STREAM, firstEvent + events, limitMs)))
    throw new Error('Not all events that were due were delivered.');
  const arrivedAt = firstArrivals(await receiver.list(STREAM));
  return summarise(
    Array.from({ length: events }, (_, i) => {
      const at = arrivedAt.get(firstEvent + i) ?? Number.NaN;
      return at / 1_000 + offsetMs - Math.round(from + i * everyMs);
    }),
  );
}
