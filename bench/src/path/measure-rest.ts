import { setTimeout as wait } from 'node:timers/promises';
import { countCommands } from './count-commands';
import { STREAM, type Stage } from './stage';

export interface RestFigures {
  /** Milliseconds of processor time a second, of API, worker and Redis together. */
  readonly idleCpuMsPerSecond: number;
  /** Commands that each process sends to Redis a second. */
  readonly idleApiCommandsPerSecond: number;
  readonly idleWorkerCommandsPerSecond: number;
  /** Commands that both together send for an event that comes alone, beside those that they send anyway. */
  readonly commandsPerLoneEvent: number;
  /** Of API, worker and Redis together, after the load. */
  readonly residentMb: number;
}

const LONE_EVENTS = 20;
const LONE_EVENTS_PER_SECOND = 5;
const SETTLE_MS = 1_000;

/** What the pair costs when next to nothing happens. */
export async function measureRest(stage: Stage, idleSeconds: number): Promise<RestFigures> {
  const { pair, redis } = stage;
  const parts = [pair.api, pair.worker, redis];
  const residentMb = parts.reduce((sum, part) => sum + part.residentBytes(), 0) / 1_000_000;
  await wait(SETTLE_MS);

  const cpuMs = () => parts.reduce((sum, part) => sum + part.cpuMs(), 0);
  const before = cpuMs();
  await wait(idleSeconds * 1_000);
  const idleCpuMsPerSecond = (cpuMs() - before) / idleSeconds;

  const idle = await countCommands(stage, () => wait(idleSeconds * 1_000));
  const lone = await countCommands(stage, () => sendLoneEvents(stage));
  const idlePerSecond = (idle.api + idle.worker) / idle.seconds;
  return {
    idleCpuMsPerSecond,
    idleApiCommandsPerSecond: idle.api / idle.seconds,
    idleWorkerCommandsPerSecond: idle.worker / idle.seconds,
    commandsPerLoneEvent: (lone.api + lone.worker - idlePerSecond * lone.seconds) / LONE_EVENTS,
    residentMb,
  };
}

async function sendLoneEvents({ sender, receiver, pair }: Stage): Promise<void> {
  const firstEvent = await receiver.count(STREAM);
  for (let i = 0; i < LONE_EVENTS; i += 1) {
    await sender.publish({ target: pair.target, firstEvent: firstEvent + i, events: 1, atOnce: 1 });
    await wait(1_000 / LONE_EVENTS_PER_SECOND);
  }
  await wait(SETTLE_MS);
}
