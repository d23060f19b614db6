import type { Protocol, Step, Taken } from './explore';
import { added, isLockedBy, movedBy, putBackIfStalled, type QueuedJob, type RunNumber } from './queued-job';

/**
 * The protocol before `oneJobForLife`, kept to show what was wrong with it. A delivery has two job ids: a run that is not
 * admitted parks it for the other one, and its job ends; a release adds the job that the entry names, and forgets the
 * entry, whether the id was free or not. One delivery, without retries: what goes wrong needs none.
 */
export interface FormerBounds {
  readonly faults: number;
  readonly repeatedFanOuts: number;
}

type Side = 'first' | 'second';

interface Run {
  readonly at: 'idle' | 'fetched' | 'loaded' | 'refused' | 'parked' | 'admitted' | 'sending' | 'over';
  readonly side: Side;
}

interface FormerState {
  readonly jobs: Readonly<Record<Side, QueuedJob>>;
  readonly runs: readonly [Run, Run];
  /** The entry in the index of the parked: the id that its release is to use. */
  readonly parked: Side | 'none';
  /** How far somebody is with a release, and under which id. */
  readonly release: 'none' | 'claimed' | 'added';
  readonly releasedSide: Side;
  /** Parking anew makes a claim void: then the release forgets nothing. */
  readonly isClaimVoid: boolean;
  readonly isDelivered: boolean;
  readonly isPublished: boolean;
  readonly isGateOpen: boolean;
  readonly faultsLeft: number;
  readonly repeatsLeft: number;
}

/** What each step leads to, if it can be taken. */
type NextStates = Readonly<Record<string, FormerState | false>>;

const SIDES: readonly Side[] = ['first', 'second'];
const RUN_NUMBERS: readonly RunNumber[] = [1, 2];
const IDLE: Run = { at: 'idle', side: 'first' };

export function alternatingJobIds({ faults, repeatedFanOuts }: FormerBounds): Protocol<FormerState> {
  return {
    initial: {
      jobs: { first: 'absent', second: 'absent' },
      runs: [IDLE, IDLE],
      parked: 'none',
      release: 'none',
      releasedSide: 'first',
      isClaimVoid: false,
      isDelivered: false,
      isPublished: false,
      isGateOpen: true,
      faultsLeft: faults,
      repeatsLeft: repeatedFanOuts,
    },
    stepsFrom,
    keyOf: (state) => JSON.stringify(state),
    sightings: {
      'a lost delivery': ({ after }) => isLost(after),
      'two live jobs': ({ after }) => SIDES.every((side) => isLive(after, side)),
      'a request that starts beside one whose run has its lock': startsBesideAnother,
    },
    isAtRest: ({ jobs, runs, parked, isDelivered, isPublished }) =>
      (isDelivered || !isPublished) &&
      parked === 'none' &&
      SIDES.every((side) => jobs[side] === 'absent') &&
      runs.every(({ at }) => at === 'idle'),
  };
}

function* stepsFrom(state: FormerState): Iterable<Step<FormerState>> {
  yield* named('', worldSteps(state), true);
  yield* named('', accidents(state), false);
  for (const side of SIDES) yield* named(`${side} job: `, jobSteps(state, side), true);
  for (const number of RUN_NUMBERS) {
    const run = state.runs[number - 1] ?? IDLE;
    yield* named(`run ${number} `, runSteps(state, number, run), true);
    yield* named(`run ${number} `, runFaults(state, number, run), false);
  }
}

function* named(by: string, nextStates: NextStates, isOrdinary: boolean): Iterable<Step<FormerState>> {
  for (const [name, next] of Object.entries(nextStates)) {
    if (next) yield { name: by + name, isOrdinary, next };
  }
}

function worldSteps(state: FormerState): NextStates {
  const { parked, release, releasedSide, isClaimVoid, jobs } = state;
  const canClaim = release === 'none' && parked !== 'none' && state.isGateOpen;
  return {
    'fan-out adds the first job': !state.isPublished && {
      ...state,
      isPublished: true,
      jobs: { ...jobs, first: added(jobs.first) },
    },
    'the gate opens': !state.isGateOpen && { ...state, isGateOpen: true },
    'a release claims the entry': canClaim && {
      ...state,
      release: 'claimed',
      releasedSide: parked,
      isClaimVoid: false,
    },
    [`the release adds the ${releasedSide} job`]: release === 'claimed' && {
      ...state,
      release: 'added',
      jobs: { ...jobs, [releasedSide]: added(jobs[releasedSide]) },
    },
    'the release forgets the entry': release === 'added' && {
      ...state,
      release: 'none',
      releasedSide: 'first',
      isClaimVoid: false,
      parked: isClaimVoid ? parked : 'none',
    },
  };
}

function accidents(state: FormerState): NextStates {
  const { jobs, repeatsLeft } = state;
  return {
    'the gate closes': state.isGateOpen && { ...state, isGateOpen: false },
    'a repeated fan-out adds the first job': state.isPublished &&
      repeatsLeft > 0 && {
        ...state,
        jobs: { ...jobs, first: added(jobs.first) },
        repeatsLeft: repeatsLeft - 1,
      },
  };
}

function jobSteps(state: FormerState, side: Side): NextStates {
  const job = state.jobs[side];
  return {
    'the lock of the crashed run expires': job === 'active:crashed' && withJob(state, side, 'active:expired'),
    'the stalled check puts it back': job === 'active:expired' && withJob(state, side, putBackIfStalled(job)),
  };
}

function runSteps(state: FormerState, number: RunNumber, run: Run): NextStates {
  const { at, side } = run;
  const goTo = (place: Run['at']) => withRun(state, number, { at: place, side });
  const isFree = (fetched: Side) => at === 'idle' && state.jobs[fetched] === 'waiting';
  const fetch = (fetched: Side) =>
    withJob(withRun(state, number, { at: 'fetched', side: fetched }), fetched, `active:${number}`);
  return {
    'fetches the first job': isFree('first') && fetch('first'),
    'fetches the second job': isFree('second') && fetch('second'),
    'loads the log': at === 'fetched' && goTo(state.isDelivered ? 'over' : 'loaded'),
    'is admitted': at === 'loaded' && state.isGateOpen && goTo('admitted'),
    'is not admitted': at === 'loaded' && !state.isGateOpen && goTo('refused'),
    [`parks the delivery for the ${otherSide(side)} job`]: at === 'refused' && {
      ...goTo('parked'),
      parked: otherSide(side),
      isClaimVoid: state.release !== 'none',
    },
    'starts its request': at === 'admitted' && goTo('sending'),
    'records its success': at === 'sending' && { ...goTo('over'), isDelivered: true },
    [`ends the ${side} job`]:
      (at === 'parked' || at === 'over') &&
      withJob(withRun(state, number, IDLE), side, movedBy(number, state.jobs[side], 'absent')),
  };
}

function runFaults(state: FormerState, number: RunNumber, { at, side }: Run): NextStates {
  const { jobs, faultsLeft } = state;
  const after = { ...state, faultsLeft: faultsLeft - 1 };
  const canFail = at !== 'idle' && faultsLeft > 0;
  return {
    crashes:
      canFail && withJob(withRun(after, number, IDLE), side, movedBy(number, jobs[side], 'active:crashed')),
    'loses its lock': canFail && isLockedBy(number, jobs[side]) && withJob(after, side, 'active:expired'),
  };
}

function otherSide(side: Side): Side {
  return side === 'first' ? 'second' : 'first';
}

function withJob(state: FormerState, side: Side, job: QueuedJob): FormerState {
  return { ...state, jobs: { ...state.jobs, [side]: job } };
}

function withRun(state: FormerState, number: RunNumber, run: Run): FormerState {
  const [first, second] = state.runs;
  return { ...state, runs: number === 1 ? [run, second] : [first, run] };
}

function isLost({ jobs, parked, isPublished, isDelivered }: FormerState): boolean {
  return isPublished && !isDelivered && parked === 'none' && SIDES.every((side) => jobs[side] === 'absent');
}

// One whose run has parked the delivery, or found it over, has only its end before it.
function isLive({ jobs, runs }: FormerState, side: Side): boolean {
  const ends = ({ at }: Run) => at === 'parked' || at === 'over';
  const isEnding = RUN_NUMBERS.some(
    (number, index) => isLockedBy(number, jobs[side]) && ends(runs[index] ?? IDLE),
  );
  return jobs[side] !== 'absent' && !isEnding;
}

function startsBesideAnother({ before, after }: Taken<FormerState>): boolean {
  const isStart = before.runs.some(
    ({ at }, index) => at === 'admitted' && after.runs[index]?.at === 'sending',
  );
  return (
    isStart &&
    RUN_NUMBERS.some((number, index) => {
      const run = before.runs[index] ?? IDLE;
      return run.at === 'sending' && isLockedBy(number, before.jobs[run.side]);
    })
  );
}
