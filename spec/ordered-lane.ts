import { accident, ordinary, type Protocol, type Step, type Watches } from './explore';
import {
  type AttemptRule,
  areAllIdle,
  forbiddenInLanes,
  hasEntries,
  isOwnerOf,
  keyOfJob,
  keyOfRuns,
  type Lane,
  type LaneBounds,
  type LaneDelivery,
  type LaneState,
  newLane,
  type Script,
  startsOf,
  withAppend,
  withDelivery,
  withoutEntry,
} from './lane-state';
import { runSteps, takeSteps, worldSteps } from './lane-steps';

/** What the order relies on: the test takes each away and sees what breaks. */
export type OrderRule =
  | AttemptRule
  | 'an entry and its job are added by one script'
  | 'who ends the run sees whether the lane is empty'
  | 'an older event on its queue is waited for'
  | 'a job is moved by the owner of its lock only'
  | 'each fetch has a token of its own'
  | 'a head that fails for good gets a job of its own'
  | 'what has failed for good is in the order before it leaves its lane'
  | 'what has a job gets no entry';

interface Choices {
  readonly bounds: LaneBounds;
  readonly without?: OrderRule;
}

/**
 * A lane in which each delivery waits for the end of the one before: that of a webhook with strict order, or of a group.
 * Its deliveries have no jobs. The lane has one, which runs the oldest, its head. The first delivery was accepted before
 * the second. Their events wait on the queue of events at first, and may be fanned out in the other order.
 *
 *     ADD ─▶ entry in the lane, and the lane's job if it has none ─▶ gone, once its end is on record
 *
 *     a head that fails for good ─▶ job of its own, failed, and in the order that holds the lane ─▶ retried: entry
 *                                                                                           └──▶ dropped: ended
 *
 *     the lane's job: waiting ─▶ active ─▶ waiting, while others wait, or gone, by the script that ends the head
 *                        ▲         │
 *                        └ delayed ◀  for the head's retry, or at a closed gate
 */
export function orderedLane(choices: Choices): Protocol<LaneState> {
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
        ({ publish, isEntry, job, isInOrder, end }) =>
          publish === 'acknowledged' && !isEntry && job === 'absent' && !isInOrder && end !== 'none',
      ),
  };
}

function laneOf({ bounds, without }: Choices): Lane {
  const lane: Lane = {
    bounds,
    without,
    subjects: ['lane'],
    jobOf: ({ job }) => job,
    withJob: (state, _of, job) => ({ ...state, job }),
    add(state, index) {
      const hasJob = state.deliveries[index]?.job !== 'absent';
      if (hasJob && without !== 'what has a job gets no entry') return state;
      if (without === 'an entry and its job are added by one script')
        return withDelivery(state, index, { isEntry: true, publish: 'half added' });
      return withJobIfAbsent(withDelivery(state, index, { isEntry: true, publish: 'added' }));
    },
    run: (state, script) => (mayMove(lane, state, script) ? moved(state, script, without) : state),
  };
  return lane;
}

function withJobIfAbsent(state: LaneState): LaneState {
  return { ...state, job: state.job === 'absent' ? 'waiting' : state.job };
}

function mayMove(lane: Lane, state: LaneState, script: Script): boolean {
  if (state.job === 'absent') return false;
  if (lane.without === 'a job is moved by the owner of its lock only') return true;
  if (lane.without === 'each fetch has a token of its own')
    return state.job.startsWith(`active:${script.number}.`);
  return isOwnerOf(lane, state, script);
}

function moved(state: LaneState, { kind, of, sawOthers }: Script, without: string | undefined): LaneState {
  if (kind === 'FAIL' && of !== 'lane') {
    if (without === 'a head that fails for good gets a job of its own') return { ...state, job: 'failed' };
    const left = withDelivery(state, of, { isEntry: false, job: 'failed' });
    return { ...left, head: undefined, job: hasEntries(left) ? 'waiting' : 'absent' };
  }
  if (kind === 'RETRY') return { ...state, job: 'delayed:retry' };
  if (kind === 'HOLD') {
    const hasFailed = of !== 'lane' && (state.deliveries[of]?.failures ?? 0) > 0;
    return { ...state, job: 'delayed:held', head: hasFailed ? state.head : undefined };
  }
  const left =
    of === 'lane'
      ? state
      : { ...withDelivery(state, of, { isEntry: false, isInOrder: false }), head: undefined };
  const isSeen = without !== 'who ends the run sees whether the lane is empty';
  return { ...left, job: (isSeen ? hasEntries(left) : sawOthers) ? 'waiting' : 'absent' };
}

function* stepsFrom(lane: Lane, state: LaneState): Iterable<Step<LaneState>> {
  const { deliveries, job, head } = state;
  yield* worldSteps(lane, state);
  for (const [index, delivery] of deliveries.entries()) yield* deliverySteps(lane, state, index, delivery);
  if (job === 'delayed:held')
    yield ordinary('it was held for as long as is allowed, or the gate has opened', {
      ...state,
      job: 'waiting',
    });
  if (job === 'delayed:retry' && (head === undefined || deliveries[head]?.isDue))
    yield ordinary('the retry is due', { ...state, job: 'waiting' });
  if (job === 'failed') {
    yield ordinary('the job of the lane is retried', { ...state, job: 'waiting' });
    yield accident('the job of the lane is dropped', { ...state, job: 'absent' });
  }
  if (job.startsWith('delayed:') && lane.bounds.accidents === 'all')
    yield accident('the job is brought forward', { ...state, job: 'waiting' });
  for (const [number, { at }] of state.runs.entries()) {
    yield* runSteps(lane, state, number);
    if (at === 'idle' && job === 'waiting') yield* takeHead(lane, state, number);
  }
}

function* deliverySteps(
  lane: Lane,
  state: LaneState,
  index: number,
  { publish, isEntry, job, isInOrder, end }: LaneDelivery,
): Iterable<Step<LaneState>> {
  if (job === 'failed') {
    yield ordinary(`its dead letter is retried, ${index}`, withDelivery(state, index, { job: 'waiting' }));
    const dropped = { end: end === 'none' ? 'cancelled' : end, isInOrder: false, isDue: true } as const;
    yield ordinary(
      `its dead letter is dropped, ${index}`,
      withAppend(withDelivery(state, index, dropped), index),
    );
    if (end !== 'none')
      yield ordinary(`the job is gone, ${index}`, withDelivery(state, index, { job: 'absent' }));
  }
  if (job === 'waiting') {
    const joined = withDelivery(state, index, { job: 'absent', isEntry: true });
    yield ordinary(`it joins the lane, ${index}`, withJobIfAbsent(joined));
  }
  if (isInOrder && job === 'absent' && !isEntry && end !== 'none')
    yield ordinary(
      `the wake-up takes it out of the order, ${index}`,
      withDelivery(state, index, { isInOrder: false }),
    );
  if (publish === 'half added') {
    yield ordinary(
      `ADD goes on, ${index}`,
      withJobIfAbsent(withDelivery(state, index, { publish: 'added' })),
    );
    if (state.faultsLeft > 0)
      yield accident(`ADD breaks off, ${index}`, {
        ...withDelivery(state, index, { publish: 'acknowledged' }),
        faultsLeft: state.faultsLeft - 1,
      });
  }
  if (isEntry && end !== 'none' && state.head !== index && lane.bounds.accidents === 'all')
    yield accident(`the entry is dropped, ${index}`, withoutEntry(lane, state, index));
}

/** The head stays the same until it ends. Otherwise it is the oldest entry, unless an older event may still become one. */
function* takeHead(lane: Lane, state: LaneState, number: number): Iterable<Step<LaneState>> {
  const { deliveries } = state;
  const begun = state.head !== undefined && deliveries[state.head]?.isEntry ? state.head : undefined;
  const head = begun ?? deliveries.findIndex(({ isEntry }) => isEntry);
  if (head < 0) return yield* takeSteps(lane, state, number, { at: 'empty', of: 'lane' });

  const isBehindJob = deliveries.slice(0, head).some(({ isInOrder }) => isInOrder);
  if (begun === undefined && isBehindJob)
    return yield* takeSteps(lane, state, number, { at: 'refused', of: head });
  const isOlderComing = deliveries
    .slice(0, head)
    .some(({ publish }) => publish === 'new' || publish === 'half added');
  const isWaitedFor = lane.without !== 'an older event on its queue is waited for';
  if (begun === undefined && isOlderComing && isWaitedFor)
    return yield* takeSteps(lane, state, number, { at: 'refused', of: head });

  const isRemembered = lane.without === 'who ends the run sees whether the lane is empty';
  const sawOthers = isRemembered && deliveries.some(({ isEntry }, index) => isEntry && index !== head);
  yield* takeSteps(lane, { ...state, head }, number, { at: 'fetched', of: head, sawOthers });
}

function keyOf(lane: Lane, state: LaneState): string {
  const { deliveries, job, head, isGateOpen, faultsLeft } = state;
  const keys = deliveries.map(({ publish, isEntry, job: own, isInOrder, end, failures, isDue, wasSent }) =>
    [publish, isEntry, own, isInOrder, end, failures, isDue, wasSent].join(),
  );
  return [...keys, keyOfJob(job), head, isGateOpen, faultsLeft, keyOfRuns(lane, state)].join(';');
}

const forbidden: Watches<LaneState> = {
  'a known delivery without an entry or a job': ({ after }) =>
    after.deliveries.some(
      ({ publish, end, isEntry, job }) => publish !== 'new' && end === 'none' && !isEntry && job === 'absent',
    ),
  'a delivery that has both': ({ after }) =>
    after.deliveries.some(({ isEntry, job }) => isEntry && job !== 'absent'),
  'an entry gone before its end is on record, or without a job': ({ before, after }) =>
    after.deliveries.some(
      ({ isEntry, end, job }, index) =>
        before.deliveries[index]?.isEntry && !isEntry && end === 'none' && job === 'absent',
    ),
  'a first request before that of an older one that has not ended': (taken) =>
    startsOf(taken).some(({ of }) =>
      taken.before.deliveries.some(
        ({ end }, index) =>
          of !== 'lane' && index < of && end === 'none' && !taken.before.deliveries[of]?.wasSent,
      ),
    ),
};

const possible: Watches<LaneState> = {
  'two requests in flight': (taken) =>
    startsOf(taken).length > 0 && taken.before.runs.some(({ at }) => at === 'sending'),
  'one that waits behind another': ({ after }) =>
    after.deliveries.filter(({ isEntry }) => isEntry).length > 1,
  'a retry that holds the lane': ({ after }) =>
    after.job === 'delayed:retry' && after.deliveries.every(({ isEntry }) => isEntry),
  'one that failed for good while another waits': ({ after }) =>
    after.deliveries.some(({ job }) => job === 'failed') && hasEntries(after),
  'all delivered': ({ after }) => after.deliveries.every(({ end }) => end === 'delivered'),
};
