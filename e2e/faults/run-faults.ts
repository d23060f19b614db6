import { setTimeout as wait } from 'node:timers/promises';
import { endpoints, UNAVAILABLE } from './endpoints';
import type { FaultKind } from './fault-kinds';
import type { InjectedFault } from './ledger';
import { Progress } from './progress';
import type { Rates } from './publisher';
import type { Receivers } from './receivers';
import type { RunResult } from './run-result';
import { type Patience, type RunSetting, runService, type Scene } from './run-service';

// Before the first fault, so that it strikes a service at work.
const WARM_UP_MS = 3_000;
const UNAVAILABLE_FOR_MS = 5_000;

export interface FaultsRunOptions extends RunSetting {
  readonly fault: string;
  /** What is injected, in this order, one after the other. */
  readonly plan: readonly FaultKind[];
  /** The pause between two faults: from a quarter of it to all of it. */
  readonly pauseMs: number;
  readonly rates: Rates;
  readonly patience: Patience;
}

/** Breaks one thing after the other while events come in at a constant rate. */
export async function runFaults({ plan, pauseMs, ...options }: FaultsRunOptions): Promise<RunResult> {
  const { random, fault } = options;
  const progress = new Progress(fault);
  const inject = async (scene: Scene): Promise<readonly InjectedFault[]> => {
    scene.publisher.start();
    await wait(WARM_UP_MS);
    const recovered = refuseForAWhile(scene.receivers);
    const faults: InjectedFault[] = [];
    for (const [i, kind] of plan.entries()) {
      const { acknowledgedCount } = scene.publisher;
      progress.show(`fault ${i + 1} of ${plan.length} (${kind.name}), ${acknowledgedCount} acknowledged`);
      const facts = await kind.inject({ ...scene, random });
      faults.push({ kind: kind.name, mayRepeat: kind.mayRepeat, ...facts });
      await wait(random.between(pauseMs / 4, pauseMs));
    }
    await recovered;
    return faults;
  };
  return await runService({ ...options, specs: endpoints, random: random.fork(), progress, act: inject });
}

/** One receiver of them all is out of order, whatever the fault is. */
async function refuseForAWhile(receivers: Receivers): Promise<void> {
  receivers.tell({ kind: 'unavailable', endpoint: UNAVAILABLE, isOn: true });
  await wait(UNAVAILABLE_FOR_MS);
  receivers.tell({ kind: 'unavailable', endpoint: UNAVAILABLE, isOn: false });
}
