import { setTimeout as wait } from 'node:timers/promises';
import { watchOthers } from '../processes/measured-process';
import { writeJson } from '../report';
import type { SuiteOptions } from '../suite';
import { type Arrivals, firstArrivals, type Latency, micros, summarise } from '../traffic/events';
import { compareFigures, type Figure, inRounds, printVerdicts } from './compare';
import { besideBusyProcesses, onStage, plainContender, STREAM, type Stage, serviceContender } from './stage';

interface KillFigures {
  /** Of events that were sent in the second half of the time before. */
  readonly before: Latency;
  /** From the kill until the last event had come, maybe again, that was sent before it. */
  readonly takenOverS: number;
  /** Of events that were sent meanwhile, which the killed worker never had: how slow the load alone makes things. */
  readonly meanwhile: Latency;
  readonly deliveredPerSecondAfter: number;
  readonly deliveredAgain: number;
  readonly missing: number;
  /** After the kill; the busy processes are no others. */
  readonly coresOfOthers: number;
}

/** What was sent and what came, in microseconds of `micros()`. */
interface Run {
  readonly firstEvent: number;
  readonly sentAt: readonly number[];
  readonly killedAt: number;
  readonly endedAt: number;
  readonly arrivals: Arrivals;
}

interface Timing {
  readonly warmUpEvents: number;
  readonly secondsBefore: number;
  readonly secondsAfter: number;
}

const RECEIVER_MS = 200;
const WEBHOOKS = 20;
const BUSY = 6;
const PER_SECOND = 160;
const WARM_UP_AT_ONCE = 32;

// After a minute at most, BullMQ's own defaults have taken over a killed worker's jobs.
const TIMING: Timing = { warmUpEvents: 3_000, secondsBefore: 20, secondsAfter: 65 };
// A quick look: nothing is taken over so soon.
const SHORT_TIMING: Timing = { warmUpEvents: 200, secondsBefore: 2, secondsAfter: 3 };
// A bound, so that what is lost ends the benchmark.
const LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 200;

const figures: readonly Figure<KillFigures>[] = [
  { name: 'before the kill: sent to received, p50, ms', of: (r) => r.before.p50, kind: 'ratio' },
  { name: 'before the kill: sent to received, p99, ms', of: (r) => r.before.p99, kind: 'ratio' },
  { name: 'its share taken over after, s', of: (r) => r.takenOverS, kind: 'ratio' },
  {
    name: 'fresh events meanwhile: sent to received, p50, s',
    of: (r) => r.meanwhile.p50 / 1_000,
    kind: 'ratio',
  },
  {
    name: 'fresh events meanwhile: sent to received, p99, s',
    of: (r) => r.meanwhile.p99 / 1_000,
    kind: 'ratio',
  },
  {
    name: 'taken over, less the p99 of fresh events, s',
    of: (r) => r.takenOverS - r.meanwhile.p99 / 1_000,
    kind: 'own',
    atMost: 20,
  },
  {
    name: `after the kill: delivered per second, of ${PER_SECOND}`,
    of: (r) => r.deliveredPerSecondAfter,
    kind: 'ratio',
  },
  { name: 'events delivered again', of: (r) => r.deliveredAgain, kind: 'own' },
  { name: 'events missing', of: (r) => r.missing, kind: 'own', atMost: 0 },
  { name: 'after the kill: cores taken by others', of: (r) => r.coresOfOthers, kind: 'own' },
];

/** How long the share of a worker waits that is killed on a busy machine, while another one goes on. */
export async function runKilledWorker(options: SuiteOptions): Promise<void> {
  const [receiverMs = RECEIVER_MS] = options.receiverMs ?? [];
  const [webhooks = WEBHOOKS] = options.webhooks ?? [];
  const [busy = BUSY] = options.busy ?? [];
  const timing = options.short ? SHORT_TIMING : TIMING;
  const rounds = options.rounds ?? 1;
  const raw = await inRounds({
    rounds,
    sides: [plainContender, serviceContender(options)],
    measure: async (contenders) => {
      const results: KillFigures[] = [];
      for (const contender of contenders)
        results.push(
          await onStage(contender, (stage) => measureKill(stage, busy, timing), { receiverMs, webhooks }),
        );
      return results;
    },
    inShort: ({ takenOverS, meanwhile }) =>
      `taken over after ${takenOverS.toFixed(1)} s, fresh events meanwhile p99 ${(meanwhile.p99 / 1_000).toFixed(1)} s`,
  });
  const ratios = compareFigures(figures, raw.plain, raw.service);
  printVerdicts(
    `One of two workers is killed: ${PER_SECOND} events a second, ${webhooks} webhooks of ${receiverMs} ± ` +
      `${receiverMs / 2} ms, ${busy} busy processes (median of ${rounds})`,
    ratios,
  );
  await writeJson(options.json, { receiverMs, webhooks, busy, ratios, raw });
}

async function measureKill(stage: Stage, busy: number, timing: Timing): Promise<KillFigures> {
  const { pair, sender, receiver, redis } = stage;
  const survivor = pair.addWorker();
  try {
    await sender.publish({
      target: pair.target,
      firstEvent: 0,
      events: timing.warmUpEvents,
      atOnce: WARM_UP_AT_ONCE,
    });
    await receiver.waitFor(STREAM, timing.warmUpEvents, LIMIT_MS);
    return await besideBusyProcesses(busy, async (ours) => {
      const firstEvent = timing.warmUpEvents;
      await sender.startStream({ stream: STREAM, target: pair.target, firstEvent, perSecond: PER_SECOND });
      await wait(timing.secondsBefore * 1_000);
      await pair.worker.kill();
      const killedAt = micros();
      const others = watchOthers([pair.api, survivor, redis, sender, receiver, ...ours]);
      await wait(timing.secondsAfter * 1_000);
      const sentAt = await sender.stopStream(STREAM);
      const endedAt = micros();
      const arrivals = await untilAllCame(stage, firstEvent + sentAt.length);
      return { ...figuresOf({ firstEvent, sentAt, killedAt, endedAt, arrivals }), coresOfOthers: others() };
    });
  } finally {
    await survivor.stop();
  }
}

/** Waits until each of so many events has come, or the time is up. */
async function untilAllCame({ receiver }: Stage, events: number): Promise<Arrivals> {
  const limit = Date.now() + LIMIT_MS;
  for (;;) {
    const arrivals = await receiver.list(STREAM);
    if (new Set(arrivals.events).size >= events || Date.now() > limit) return arrivals;
    await wait(LOOK_EVERY_MS);
  }
}

function figuresOf({
  firstEvent,
  sentAt,
  killedAt,
  endedAt,
  arrivals,
}: Run): Omit<KillFigures, 'coresOfOthers'> {
  const sentAtOf = (event: number) => sentAt[event - firstEvent] ?? 0;
  const cameLate = arrivals.events
    .map((event, i) => ({ event, at: arrivals.at[i] ?? 0 }))
    .filter(({ event, at }) => event >= firstEvent && sentAtOf(event) < killedAt && at > killedAt);
  const takenOverAt = cameLate.reduce((last, { at }) => Math.max(last, at), killedAt);

  const first = firstArrivals(arrivals);
  // What never came counts with its age.
  const latencies = sentAt.map((at, i) => ({
    at,
    ms: ((first.get(firstEvent + i) ?? micros()) - at) / 1_000,
  }));
  const latencyOf = (from: number, until: number) =>
    summarise(latencies.filter(({ at }) => at >= from && at < until).map(({ ms }) => ms));
  const startedAt = sentAt[0] ?? killedAt;
  const came = sentAt.filter((_, i) => first.has(firstEvent + i)).length;
  const cameAfter = [...first.values()].filter((at) => at >= killedAt && at < endedAt).length;
  return {
    before: latencyOf((startedAt + killedAt) / 2, killedAt),
    takenOverS: (takenOverAt - killedAt) / 1_000_000,
    meanwhile: latencyOf(killedAt, Math.max(takenOverAt, killedAt + 1_000_000)),
    deliveredPerSecondAfter: (cameAfter / (endedAt - killedAt)) * 1_000_000,
    deliveredAgain: arrivals.events.length - first.size,
    missing: sentAt.length - came,
  };
}
