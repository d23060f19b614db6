import { setTimeout as wait } from 'node:timers/promises';
import { endpoints, UNAVAILABLE } from './endpoints';
import type { FaultScene, Scene } from './fault-scene';
import type { InjectedFault } from './ledger';
import { type Mode, nameIn } from './mode';
import { Progress } from './progress';
import type { Rates } from './publisher';
import { Random } from './random';
import type { Receivers } from './receivers';
import type { RunResult } from './run-result';
import { type Patience, type RunSetting, runService } from './run-service';
import type { Schedule, Step } from './schedule';

// Before the first fault, so that it strikes a service at work.
const WARM_UP_MS = 3_000;
const UNAVAILABLE_FOR_MS = 5_000;

export interface FaultsRunOptions extends RunSetting {
  readonly fault: string;
  readonly schedule: Schedule;
  /** The pause between two faults: from a quarter of it to all of it. */
  readonly pauseMs: number;
  readonly rates: Rates;
  readonly patience: Patience;
}

/** Breaks one thing after the other while events come in at a constant rate. */
export async function runFaults({ schedule, pauseMs, ...options }: FaultsRunOptions): Promise<RunResult> {
  const progress = new Progress(options.fault);
  const act = async (scene: Scene): Promise<readonly InjectedFault[]> => {
    scene.publisher.start();
    await wait(WARM_UP_MS);
    const recovered = refuseForAWhile(scene.receivers);
    const faults: InjectedFault[] = [];
    for (const [i, step] of schedule.entries()) {
      const { acknowledgedCount } = scene.publisher;
      progress.showShare(i, schedule.length, `${step.kind.name}, ${acknowledgedCount} acknowledged`);
      const random = new Random(step.seed);
      faults.push(...(await inject(step, { ...scene, random }, options.mode)));
      await wait(random.between(pauseMs / 4, pauseMs));
    }
    await recovered;
    return faults;
  };
  const random = options.random.fork();
  return await runService({ ...options, specs: endpoints, random, progress, act });
}

async function inject(
  { kind }: Step,
  scene: FaultScene,
  mode: Mode | undefined,
): Promise<readonly InjectedFault[]> {
  const strikes = [await kind.inject(scene)].flat();
  return strikes.map((strike, i) => ({
    kind: nameIn(kind.name, mode),
    mayRepeat: kind.mayRepeat,
    ...strike,
    ...(i > 0 ? { isFurtherStrike: true } : {}),
  }));
}

/** One receiver of them all is out of order, whatever the fault is. */
async function refuseForAWhile(receivers: Receivers): Promise<void> {
  receivers.send({ kind: 'unavailable', endpoint: UNAVAILABLE, isOn: true });
  await wait(UNAVAILABLE_FOR_MS);
  receivers.send({ kind: 'unavailable', endpoint: UNAVAILABLE, isOn: false });
}
