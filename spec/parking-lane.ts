import { accident, ordinary, type Protocol, type Step, type Watches } from './explore';
import {
  type AttemptRule,
  areAllIdle,
  forbiddenInLanes,
  hasEntries,
  IDLE,
  isOwnerOf,
  keyOfJob,
  keyOfRuns,
  type Lane,
  type LaneBounds,
  type LaneDelivery,
  type LaneJob,
  type LaneState,
  newLane,
  type Script,
  type Subject,
  withDelivery,
  withoutEntry,
  withRun,
} from './lane-state';
import { runSteps, takeSteps, worldSteps } from './lane-steps';

/** What parking relies on: the test takes each away and sees what breaks. */
export type ParkingRule =
  | AttemptRule
  | 'what has a job gets no entry'
  | "who parks a delivery sees to the lane's job"
  | 'a job is moved by the owner of its lock only';

interface Choices {
  readonly bounds: LaneBounds;
  readonly without?: ParkingRule;
}

/**
 * A lane in which deliveries are parked that their webhook may not be sent now, in no order. A delivery has a job of its
 * own, or is an entry of the lane, whose job turns entries into jobs once the gate is open.
 *
 *     ADD ─▶ job, or, while others are parked, entry        HOLD: job ─▶ entry, and the lane's job if it has none
 *
 *     the lane's job: delayed ─▶ waiting ─▶ active ─ RELEASE: the oldest entry ─▶ job ─▶ waiting, while others are
 *                        ▲                    │                                          parked, or gone
 *                        └────────────────────┘ the gate is closed
 */
export function parkingLane(choices: Choices): Protocol<LaneState> {
  const lane = laneOf(choices);
  return {
    initial: newLane(choices.bounds),
    stepsFrom: (state) => stepsFrom(lane, state),
    keyOf: (state) => keyOf(lane, state),
    forbidden: { ...forbiddenInLanes(lane), ...forbidden },
    possible,
    isAtRest: (state) =>
      state.job === 'absent' &&
      areAllIdle(state) &&
      state.deliveries.every(
        ({ publish, isEntry, job, end }) =>
          publish === 'acknowledged' && !isEntry && job === 'absent' && end !== 'none',
      ),
  };
}

function laneOf({ bounds, without }: Choices): Lane {
  const lane: Lane = {
    bounds,
    without,
    subjects: ['lane', ...Array.from({ length: bounds.deliveries }, (_, index) => index)],
    jobOf: (state, of) => (of === 'lane' ? state.job : (state.deliveries[of]?.job ?? 'absent')),
    withJob,
    add: (state, index) => withDelivery(added(state, index, without), index, { publish: 'added' }),
    run: (state, script) => (mayMove(lane, state, script) ? moved(state, script, without) : state),
  };
  return lane;
}

function withJob(state: LaneState, of: Subject, job: LaneJob): LaneState {
  return of === 'lane' ? { ...state, job } : withDelivery(state, of, { job });
}

/** While others are parked it goes behind them. */
function added(state: LaneState, index: number, without: ParkingRule | undefined): LaneState {
  const delivery = state.deliveries[index];
  const hasJob = delivery?.job !== 'absent';
  if (hasEntries(state)) {
    if (hasJob && without !== 'what has a job gets no entry') return state;
    return withLaneJob(withDelivery(state, index, { isEntry: true }));
  }
  return hasJob ? state : withDelivery(state, index, { job: 'waiting' });
}

function withLaneJob(state: LaneState): LaneState {
  return { ...state, job: state.job === 'absent' ? 'delayed:held' : state.job };
}

function mayMove(lane: Lane, state: LaneState, script: Script): boolean {
  if (lane.without !== 'a job is moved by the owner of its lock only') return isOwnerOf(lane, state, script);
  return script.kind === 'HOLD' || lane.jobOf(state, script.of) !== 'absent';
}

function moved(state: LaneState, { kind, of }: Script, without: ParkingRule | undefined): LaneState {
  if (kind === 'RELEASE') return withOldestReleased(state);
  if (of === 'lane') return withJob(state, of, hasEntries(state) ? 'delayed:held' : 'absent');
  if (kind !== 'HOLD') return withJob(state, of, kind === 'END' ? 'absent' : 'delayed:retry');
  const parked = withDelivery(state, of, { job: 'absent', isEntry: true });
  return without === "who parks a delivery sees to the lane's job" ? parked : withLaneJob(parked);
}

/** The others come at the lane's next run. */
function withOldestReleased(state: LaneState): LaneState {
  const oldest = state.deliveries.findIndex(({ isEntry }) => isEntry);
  const delivery = state.deliveries[oldest];
  const job = delivery?.job === 'absent' ? 'waiting' : delivery?.job;
  const released = job ? withDelivery(state, oldest, { isEntry: false, job }) : state;
  return withJob(released, 'lane', hasEntries(released) ? 'waiting' : 'absent');
}

function* stepsFrom(lane: Lane, state: LaneState): Iterable<Step<LaneState>> {
  yield* worldSteps(lane, state);
  for (const [index, delivery] of state.deliveries.entries())
    yield* deliverySteps(lane, state, index, delivery);
  if (state.job === 'delayed:held')
    yield ordinary("the lane's job is due, or woken up", { ...state, job: 'waiting' });
  for (const [number, { at, of }] of state.runs.entries()) {
    yield* runSteps(lane, state, number);
    if (at === 'fetched' && of === 'lane') yield* lookAtGate(state, number);
    if (at === 'idle') yield* takeAny(lane, state, number);
  }
}

function* deliverySteps(
  lane: Lane,
  state: LaneState,
  index: number,
  { job, isDue, isEntry, end }: LaneDelivery,
): Iterable<Step<LaneState>> {
  if (job === 'delayed:retry' && isDue)
    yield ordinary(`its retry is due, ${index}`, withJob(state, index, 'waiting'));
  if (lane.bounds.accidents === 'none') return;
  if (job === 'delayed:retry')
    yield accident(`it is brought forward, ${index}`, withJob(state, index, 'waiting'));
  if (isEntry && end !== 'none')
    yield accident(`the entry is dropped, ${index}`, withoutEntry(lane, state, index));
}

function* lookAtGate(state: LaneState, number: number): Iterable<Step<LaneState>> {
  const run = state.runs[number] ?? IDLE;
  const looked = withRun(state, number, { ...run, at: state.isGateOpen ? 'releasing' : 'refused' });
  yield ordinary(`run ${number} looks at the gate`, looked);
}

function* takeAny(lane: Lane, state: LaneState, number: number): Iterable<Step<LaneState>> {
  for (const of of lane.subjects) {
    if (lane.jobOf(state, of) === 'waiting') yield* takeSteps(lane, state, number, { at: 'fetched', of });
  }
}

// Which delivery is the older makes a difference: RELEASE begins with it.
function keyOf(lane: Lane, state: LaneState): string {
  const { deliveries, job, isGateOpen, faultsLeft } = state;
  const keys = deliveries.map(({ publish, isEntry, end, failures, isDue, job: own }) =>
    [publish, isEntry, end, failures, isDue, keyOfJob(own)].join(),
  );
  return [...keys, keyOfJob(job), isGateOpen, faultsLeft, keyOfRuns(lane, state)].join(';');
}

const forbidden: Watches<LaneState> = {
  'a known delivery with neither a job nor an entry': ({ after }) =>
    after.deliveries.some(
      ({ publish, end, job, isEntry }) => publish !== 'new' && end === 'none' && job === 'absent' && !isEntry,
    ),
  'a delivery that has both': ({ after }) =>
    after.deliveries.some(({ job, isEntry }) => job !== 'absent' && isEntry),
};

const possible: Watches<LaneState> = {
  'one that is parked': ({ after }) => hasEntries(after),
  'one that is added to the lane': ({ before, after }) =>
    after.deliveries.some(
      ({ publish, isEntry }, index) =>
        before.deliveries[index]?.publish === 'new' && publish !== 'new' && isEntry,
    ),
  'all delivered': ({ after }) => after.deliveries.every(({ end }) => end === 'delivered'),
};
