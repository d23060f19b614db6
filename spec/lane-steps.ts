import { accident, ordinary, type Step } from './explore';
import {
  IDLE,
  isOwnerOf,
  type Lane,
  type LaneDelivery,
  type LaneRun,
  type LaneState,
  lockOf,
  type Place,
  type Script,
  withAppend,
  withDelivery,
  withRun,
} from './lane-state';
import type { End } from './one-job-state';

const SCRIPTS: Partial<Record<Place, Script['kind']>> = {
  over: 'END',
  empty: 'END',
  retrying: 'RETRY',
  refused: 'HOLD',
  leaving: 'FAIL',
  releasing: 'RELEASE',
};

/** The script that gives a run its job. @param state with all that it changes beside the job */
export function* takeSteps(
  lane: Lane,
  state: LaneState,
  number: number,
  taken: Pick<LaneRun, 'at' | 'of'> & Partial<LaneRun>,
): Iterable<Step<LaneState>> {
  const { repeated, faultsLeft } = state;
  const token = repeated?.number === number && repeated.token === 0 ? 1 : 0;
  const name = `run ${number} takes the job of ${taken.of}`;
  const locked = lane.withJob(state, taken.of, lockOf(number, token));
  yield ordinary(name, withRun(locked, number, { ...IDLE, ...taken, token }));
  if (faultsLeft > 0) {
    const crashed = lane.withJob(state, taken.of, 'active:crashed');
    yield accident(`${name}, and never learns of it`, { ...crashed, faultsLeft: faultsLeft - 1 });
  }
}

/** What a run that has a job does, until it lets go of it. */
export function* runSteps(lane: Lane, state: LaneState, number: number): Iterable<Step<LaneState>> {
  const run = state.runs[number] ?? IDLE;
  if (run.at === 'idle') return;
  yield* attemptSteps(lane, state, number, run);
  if (SCRIPTS[run.at]) yield* letGo(lane, state, number, `run ${number}`);
  if (state.faultsLeft === 0) return;
  const faultsLeft = state.faultsLeft - 1;
  const isOwner = isOwnerOf(lane, state, { ...run, number });
  const left = isOwner ? lane.withJob(state, run.of, 'active:crashed') : state;
  yield accident(`run ${number} crashes`, { ...withRun(left, number, IDLE), faultsLeft });
  if (isOwner) {
    const expired = lane.withJob(state, run.of, 'active:expired');
    yield accident(`run ${number} loses its lock`, { ...expired, faultsLeft });
  }
}

function* attemptSteps(
  lane: Lane,
  state: LaneState,
  number: number,
  run: LaneRun,
): Iterable<Step<LaneState>> {
  const { of } = run;
  const delivery = of === 'lane' ? undefined : state.deliveries[of];
  if (of === 'lane' || !delivery) return;
  const step = (name: string, at: Place) =>
    ordinary(`run ${number} ${name}, ${of}`, withRun(state, number, { ...run, at }));
  if (lane.bounds.poison && ['fetched', 'loaded', 'admitted'].includes(run.at)) {
    const poisoned = withRun(state, number, { ...run, at: 'poisoned' });
    yield accident(`run ${number} fails for good, ${of}`, poisoned);
  }
  switch (run.at) {
    case 'fetched':
      yield step('loads the log', delivery.end !== 'none' ? 'over' : delivery.isDue ? 'loaded' : 'retrying');
      break;
    case 'loaded':
      yield state.isGateOpen ? step('is admitted', 'admitted') : step('is not admitted', 'refused');
      break;
    case 'admitted': {
      const { name, isOrdinary, next } = step('starts its request', 'sending');
      if (
        isOwnerOf(lane, state, { ...run, number }) ||
        lane.without === 'only the owner of the lock starts a request'
      )
        yield { name, isOrdinary, next: withDelivery(next, of, { wasSent: true }) };
      else yield ordinary(`run ${number} lets go, as its time is up`, withRun(state, number, IDLE));
      break;
    }
    case 'sending':
      yield step('is answered with success', 'succeeded');
      yield step('is answered with failure', 'failed');
      break;
    case 'succeeded':
    case 'failed': {
      const recorded = withRecord(lane, state, number, { ...run, of });
      const name = `run ${number} records, ${of}`;
      if (lane.bounds.record === 'with the end') yield* letGo(lane, recorded, number, name);
      else yield ordinary(name, recorded);
      break;
    }
    case 'poisoned': {
      const isInOrder = lane.without !== 'what has failed for good is in the order before it leaves its lane';
      const ordered = withDelivery(state, of, { isInOrder });
      yield ordinary(
        `run ${number} puts it in order, ${of}`,
        withRun(ordered, number, { ...run, at: 'leaving' }),
      );
      break;
    }
    case 'idle':
    case 'over':
    case 'retrying':
    case 'refused':
    case 'leaving':
    case 'releasing':
    case 'empty':
      break;
  }
}

function* letGo(lane: Lane, state: LaneState, number: number, name: string): Iterable<Step<LaneState>> {
  const { at, token, of, sawOthers } = state.runs[number] ?? IDLE;
  const script: Script = { kind: SCRIPTS[at] ?? 'END', number, token, of, sawOthers };
  const after = withRun(lane.run(state, script), number, IDLE);
  yield ordinary(`${name}: ${script.kind}, ${of}`, after);
  if (state.faultsLeft > 0 && !state.repeated)
    yield accident(`${name}: ${script.kind}, ${of}, and its reply is lost`, {
      ...after,
      repeated: script,
      faultsLeft: state.faultsLeft - 1,
    });
}

/** An attempt of which another run's append came first is on record as a late one; only a success decides something then. */
function withRecord(
  { bounds, without }: Lane,
  state: LaneState,
  number: number,
  run: LaneRun & { readonly of: number },
): LaneState {
  const { of, at, isLogAsLoaded } = run;
  const failures = state.deliveries[of]?.failures ?? 0;
  const isLate = at === 'failed' && !isLogAsLoaded && without !== 'a recorded end stays';
  const nextFailures = at === 'failed' ? Math.min(failures + 1, bounds.attempts) : failures;
  const failed: End = nextFailures === bounds.attempts ? 'exhausted' : 'none';
  const end = at === 'succeeded' ? 'delivered' : failed;
  const decided = withDelivery(state, of, { end, failures: nextFailures, isDue: end !== 'none' });
  const recorded = isLate ? state : withAppend(decided, of);
  const isOver = recorded.deliveries[of]?.end !== 'none';
  return withRun(recorded, number, { ...run, at: isOver ? 'over' : 'retrying' });
}

/** What happens without a run in either kind of lane. */
export function* worldSteps(lane: Lane, state: LaneState): Iterable<Step<LaneState>> {
  for (const of of lane.subjects) {
    const job = lane.jobOf(state, of);
    if (job === 'active:crashed')
      yield ordinary(`the lock of ${of} expires`, lane.withJob(state, of, 'active:expired'));
    if (job === 'active:expired')
      yield ordinary(`the stalled check puts ${of} back`, lane.withJob(state, of, 'waiting'));
  }
  for (const [index, delivery] of state.deliveries.entries())
    yield* deliverySteps(lane, state, index, delivery);
  if (state.isGateOpen) yield accident('the gate closes', { ...state, isGateOpen: false });
  else yield ordinary('the gate opens', { ...state, isGateOpen: true });
  if (state.repeated)
    yield ordinary(
      `the repeated ${state.repeated.kind} arrives`,
      lane.run({ ...state, repeated: undefined }, state.repeated),
    );
}

function* deliverySteps(
  lane: Lane,
  state: LaneState,
  index: number,
  { publish, isDue, end }: LaneDelivery,
): Iterable<Step<LaneState>> {
  if (publish === 'new') yield ordinary(`ADD, ${index}`, lane.add(state, index));
  if (publish === 'added')
    yield ordinary(`it is acknowledged, ${index}`, withDelivery(state, index, { publish: 'acknowledged' }));
  if (!isDue)
    yield ordinary(`its next attempt is due, ${index}`, withDelivery(state, index, { isDue: true }));
  if (lane.bounds.accidents === 'none' || publish === 'new') return;
  yield accident(`ADD is repeated, ${index}`, withDelivery(lane.add(state, index), index, { publish }));
  if (end === 'none') {
    const cancelled = withDelivery(state, index, { end: 'cancelled', isDue: true });
    yield accident(`it is cancelled, ${index}`, withAppend(cancelled, index));
  }
}
