import type { Protocol, Step } from './explore';
import { moverFaults, moverSteps, resendAccidents, resendSteps } from './one-job-history';
import { runFaults, runSteps } from './one-job-run';
import { forbidden, possible } from './one-job-sightings';
import {
  type Change,
  type Choices,
  type Delivery,
  IDLE,
  IDLE_MOVER,
  type Mover,
  type Run,
  type State,
  type StepOf,
} from './one-job-state';
import {
  deliveryAccidents,
  deliverySteps,
  endpointAccidents,
  endpointSteps,
  releaseSteps,
} from './one-job-world';
import { isLockedBy, type RunNumber } from './queued-job';

/**
 * A delivery's life as one job under one id on one queue, from its fan-out to its end. Each step is one command or
 * script; between any two, everything else may happen, any number of times: only faults are counted.
 *
 *     fan-out ─▶ waiting ─▶ active ─▶ gone, once its end is on record
 *                  ▲          │
 *                  └─ delayed ◀  for a retry, or held at a closed gate: then it is listed there as well
 */
export function oneJobForLife(choices: Choices): Protocol<State> {
  return {
    initial: {
      deliveries: Array.from({ length: choices.bounds.deliveries }, () => newDelivery(choices)),
      runs: Array.from({ length: choices.bounds.runs }, () => IDLE),
      isGateOpen: true,
      isWakeUpDue: false,
      look: 'none',
      faultsLeft: choices.bounds.faults,
    },
    stepsFrom: (state) => stepsFrom(state, choices),
    keyOf,
    forbidden,
    possible,
    isAtRest: (state) => isAtRest(state, choices),
  };
}

function newDelivery({ bounds: { movers, resends = 0 } }: Choices): Delivery {
  return {
    job: 'absent',
    isListed: false,
    end: 'none',
    failures: 0,
    isDue: true,
    publish: 'new',
    log: 'in Redis',
    row: 'none',
    movers: Array.from({ length: movers ?? 0 }, () => IDLE_MOVER),
    resend: 'none',
    isPinLeft: false,
    isRequested: false,
    resendsLeft: resends,
  };
}

const RUN_NUMBERS: readonly RunNumber[] = [1, 2, 3];

const endpointTable = Object.entries(endpointSteps);
const endpointAccidentTable = Object.entries(endpointAccidents);
const deliveryTable = Object.entries({ ...deliverySteps, ...releaseSteps });
const deliveryAccidentTable = Object.entries(deliveryAccidents);
const resendTable = Object.entries(resendSteps);
const resendAccidentTable = Object.entries(resendAccidents);
const moverTable = Object.entries(moverSteps);
const moverFaultTable = Object.entries(moverFaults);
const runTable = Object.entries(runSteps);
const runFaultTable = Object.entries(runFaults);

function* stepsFrom(state: State, choices: Choices): Iterable<Step<State>> {
  const scene = { ...state, choices };
  yield* stepsOf(endpointTable, scene, true);
  if (choices.bounds.gate !== 'stays open') yield* stepsOf(endpointAccidentTable, scene, false);
  for (const [index, delivery] of state.deliveries.entries()) {
    const ofDelivery = { ...scene, delivery, index };
    yield* stepsOf(deliveryTable, ofDelivery, true);
    if (choices.bounds.accidents === 'all') yield* stepsOf(deliveryAccidentTable, ofDelivery, false);
    yield* stepsOf(resendTable, ofDelivery, true);
    yield* stepsOf(resendAccidentTable, ofDelivery, false);
    for (const [at, mover] of delivery.movers.entries()) {
      yield* stepsOf(moverTable, { ...ofDelivery, mover, at }, true);
      yield* stepsOf(moverFaultTable, { ...ofDelivery, mover, at }, false);
    }
    for (const [at, run] of state.runs.entries()) {
      const number = RUN_NUMBERS[at];
      // An idle one may take up any delivery.
      if (number === undefined || (run.at !== 'idle' && run.of !== index)) continue;
      const ofRun = { ...ofDelivery, run, number };
      yield* stepsOf(runTable, ofRun, true);
      yield* stepsOf(runFaultTable, ofRun, false);
    }
  }
}

type AnyScene = State & {
  readonly index?: number;
  readonly number?: RunNumber;
  /** Which mover. */
  readonly at?: number;
};

function* stepsOf<SomeScene extends AnyScene>(
  table: readonly (readonly [string, StepOf<SomeScene>])[],
  scene: SomeScene,
  isOrdinary: boolean,
): Iterable<Step<State>> {
  for (const [name, step] of table) {
    const change = step(scene);
    if (change) yield { name: nameOf(name, scene), isOrdinary, next: withChange(scene, change) };
  }
}

function nameOf(name: string, { deliveries, index, number, at }: AnyScene): string {
  const mover = at === undefined ? name : `mover ${at + 1} ${name}`;
  const whole = number === undefined ? mover : `run ${number} ${name}`;
  return index === undefined || deliveries.length === 1 ? whole : `${whole}, delivery ${index + 1}`;
}

function withChange(scene: AnyScene, { delivery, run, appends, requests, ...rest }: Change): State {
  const { isGateOpen, isWakeUpDue, look, faultsLeft } = { ...scene, ...rest };
  const deliveries = scene.deliveries.map((old, index) => {
    if (index !== scene.index) return old;
    const now = { ...old, ...delivery };
    return appends ? { ...now, movers: now.movers.map(withOtherLog) } : now;
  });
  const runs = scene.runs.map((old, at) => {
    if (run && at + 1 === scene.number) return run;
    if (!appends || old.of !== scene.index) return old;
    return withLogChanged(old, requests && scene.deliveries[old.of]?.end !== 'none');
  });
  return { deliveries, runs, isGateOpen, isWakeUpDue, look, faultsLeft };
}

const WITH_LOG_LOADED: readonly Run['at'][] = ['loaded', 'admitted', 'sending', 'succeeded', 'failed'];

function withLogChanged(run: Run, isNewRound = false): Run {
  if (!WITH_LOG_LOADED.includes(run.at)) return run;
  return { ...run, isLogAsLoaded: false, isOfRound: run.isOfRound && !isNewRound };
}

function withOtherLog(mover: Mover): Mover {
  return mover.at === 'idle' ? mover : { ...mover, isLogAsRead: false };
}

function isAtRest({ deliveries, runs, isWakeUpDue }: State, { bounds }: Choices): boolean {
  const hasMoved = ({ log, movers, resend, isPinLeft }: Delivery) =>
    log === 'moved' && movers.every(({ at }) => at === 'idle') && resend === 'none' && !isPinLeft;
  const hasEnded = (delivery: Delivery) =>
    delivery.job === 'absent' &&
    !delivery.isListed &&
    (delivery.publish === 'new' ||
      (delivery.end !== 'none' && (bounds.movers === undefined || hasMoved(delivery))));
  return deliveries.every(hasEnded) && runs.every(({ at }) => at === 'idle') && !isWakeUpDue;
}

// Which of the runs and which of the deliveries it is makes no difference: one state stands for all that differ in that.
function keyOf(state: State): string {
  const { deliveries, isGateOpen, isWakeUpDue, look, faultsLeft } = state;
  const keys = deliveries.map((delivery, index) => keyOfDelivery(delivery, keyOfRuns(state, index)));
  return `${keys.toSorted().join(';')};${isGateOpen},${isWakeUpDue},${look},${faultsLeft}`;
}

function keyOfDelivery(delivery: Delivery, runs: string): string {
  const { job, isListed, end, failures, isDue, publish } = delivery;
  const isOwned = RUN_NUMBERS.some((number) => isLockedBy(number, job));
  return `${isOwned ? 'owned' : job},${isListed},${end},${failures},${isDue},${publish},${runs},${keyOfHistory(delivery)}`;
}

function keyOfHistory(delivery: Delivery): string {
  const { log, row, movers, resend, isPinLeft, isRequested, resendsLeft } = delivery;
  if (movers.length === 0) return '';
  const keys = movers.map(({ at, saw, isLogAsRead }) => `${at} ${saw} ${isLogAsRead}`);
  return `${log},${row},${keys.toSorted().join()},${resend},${isPinLeft},${isRequested},${resendsLeft}`;
}

function keyOfRuns({ runs, deliveries }: State, index: number): string {
  const keys: string[] = [];
  for (const [at, run] of runs.entries()) {
    if (run.at === 'idle' || run.of !== index) continue;
    const isOwner = deliveries[index]?.job === `active:${at + 1}`;
    keys.push(`${run.at},${run.isLogAsLoaded},${run.isOfRound},${isOwner}`);
  }
  return keys.toSorted().join();
}
