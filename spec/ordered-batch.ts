import { accident, ordinary, type Protocol, type Step, type Watches } from './explore';

/** What requests for several deliveries rely on in an order: the test takes each away and sees what breaks. */
export type OrderedBatchRule =
  | 'an older event on its queue is waited for'
  | 'an older delivery with a job of its own is waited for'
  | 'older events are looked for before deliveries with jobs of their own'
  | 'what came between them meanwhile is waited for'
  | 'members are noted only once it is known what goes'
  | 'members are noted before their request'
  | 'those that failed together go together again'
  | 'what has ended goes no more'
  | 'none goes in place of a head that has ended'
  | 'only the owner of the lock notes what goes'
  | 'only the owner of the lock starts a request';

export interface OrderedBatchBounds {
  readonly deliveries: number;
  /** How many go in one request at most. */
  readonly most: number;
  /** How often a run crashes or loses its lock, or a delivery is cancelled. */
  readonly faults: number;
  /** Whether deliveries of before have jobs of their own. */
  readonly ownJobs?: boolean;
  /** On one server the script of the record is also the one by which the run lets go. In a Cluster it comes before. */
  readonly record?: 'with the end' | 'before the end';
}

interface Choices {
  readonly bounds: OrderedBatchBounds;
  readonly without?: OrderedBatchRule;
}

type Job = 'absent' | 'waiting' | 'delayed' | 'crashed' | `active:${number}`;

interface Delivery {
  readonly place: 'to be fanned out' | 'entry' | 'own job' | 'gone';
  /** Among those that have, or had, jobs of their own beside the lane, until it has ended. */
  readonly isInOrder: boolean;
  readonly hasEnded: boolean;
  readonly wasSent: boolean;
  /** Whether it was rejected once: it is accepted the next time. */
  readonly wasRejected: boolean;
  /** How often a receiver has accepted it. */
  readonly accepted: number;
}

interface OrderedLane {
  readonly job: Job;
  /** The delivery whose turn has begun. */
  readonly head?: number | undefined;
  /** Those that go together, the head included. */
  readonly members?: readonly number[] | undefined;
}

interface Run {
  readonly at:
    | 'idle'
    | 'has the lane'
    | 'has read'
    | 'has loaded'
    | 'knows events'
    | 'knows jobs'
    | 'may keep'
    | 'knows all'
    | 'sending'
    | 'answered'
    | 'recorded';
  readonly head: number;
  readonly wentTogether: boolean;
  /** The first ones of the lane. */
  readonly read: readonly number[];
  /** Those in its request. */
  readonly going: readonly number[];
  /** Those whose logs were appended to since it has loaded them. */
  readonly changed: readonly number[];
  readonly answer?: Answer | undefined;
}

type Answer = 'accepted' | 'rejected' | 'rejected in part';

interface OrderedBatchState {
  readonly deliveries: readonly Delivery[];
  readonly lane: OrderedLane;
  /** Those of the last request, if nothing is recorded of it. */
  readonly unrecorded?: readonly number[] | undefined;
  readonly runs: readonly Run[];
  readonly faultsLeft: number;
}

interface World {
  readonly bounds: OrderedBatchBounds;
  readonly without: OrderedBatchRule | undefined;
}

const RUNS = 2;
const IDLE: Run = {
  at: 'idle',
  head: 0,
  wentTogether: false,
  read: [],
  going: [],
  changed: [],
};

/**
 * A lane in an order whose first deliveries go in one request: they stay in it until they have ended. The first delivery was accepted
 * before the second. Their events wait on the queue of events at first, and may be fanned out in another order.
 *
 *     TAKE ─▶ READ the first ones ─▶ load ─▶ older events? ─▶ older jobs? ─▶ KEEP those together that go ─▶ request ─▶ END
 *       └── of those that went together before ──▲ ─────────▶ ─────────────────────────────────────────────▲
 */
export function orderedBatch({ bounds, without }: Choices): Protocol<OrderedBatchState> {
  const world = { bounds, without };
  return {
    initial: {
      deliveries: Array.from({ length: bounds.deliveries }, () => ({
        place: 'to be fanned out',
        isInOrder: false,
        hasEnded: false,
        wasSent: false,
        wasRejected: false,
        accepted: 0,
      })),
      lane: { job: 'absent' },
      runs: Array.from({ length: RUNS }, () => IDLE),
      faultsLeft: bounds.faults,
    },
    stepsFrom: (state) => stepsFrom(world, state),
    keyOf,
    forbidden: forbiddenWithin(bounds),
    possible,
    isAtRest: ({ deliveries, lane, runs }) =>
      lane.job === 'absent' &&
      runs.every(({ at }) => at === 'idle') &&
      deliveries.every(({ place, hasEnded, isInOrder }) => place === 'gone' && hasEnded && !isInOrder),
  };
}

function* stepsFrom(world: World, state: OrderedBatchState): Iterable<Step<OrderedBatchState>> {
  for (const [index, delivery] of state.deliveries.entries())
    yield* deliverySteps(world, state, index, delivery);
  const { job } = state.lane;
  if (job === 'crashed')
    yield ordinary('the stalled check puts it back', withLane(state, { job: 'waiting' }));
  if (job === 'delayed') yield ordinary('it is due, or woken up', withLane(state, { job: 'waiting' }));
  for (const [number, run] of state.runs.entries()) {
    if (run.at !== 'idle') yield* runSteps(world, state, number, run);
    else if (job === 'waiting') yield* take(world, state, number);
  }
}

function* deliverySteps(
  { bounds }: World,
  state: OrderedBatchState,
  index: number,
  { place, hasEnded }: Delivery,
): Iterable<Step<OrderedBatchState>> {
  if (place === 'to be fanned out') {
    yield ordinary(`ADD, ${index}`, entered(state, index));
    // Those from before it got its order, and those of the time when it was disabled and discarded.
    if (bounds.ownJobs)
      yield accident(
        `ADD with a job, ${index}`,
        withDeliveries(state, [index], { place: 'own job', isInOrder: true }),
      );
    return;
  }
  if (place === 'own job') {
    yield ordinary(`its job becomes an entry, ${index}`, entered(state, index));
    const dropped = { place: 'gone', hasEnded: true, isInOrder: false } as const;
    yield ordinary(`its job is dropped, ${index}`, withDeliveries(state, [index], dropped));
  }
  if (place === 'entry' && !hasEnded && state.faultsLeft > 0)
    yield accident(`it is cancelled, ${index}`, faulty(ended(state, [index])));
}

/** The head stays the same until it ends. Otherwise it is the oldest entry, unless an older one is to come. */
function* take(
  { without }: World,
  state: OrderedBatchState,
  number: number,
): Iterable<Step<OrderedBatchState>> {
  const { deliveries, lane } = state;
  const begun = lane.head !== undefined && isEntry(state, lane.head) ? lane.head : undefined;
  const head = begun ?? deliveries.findIndex(({ place }) => place === 'entry');
  if (head < 0) return yield ordinary('END of the empty lane', { ...state, lane: { job: 'absent' } });
  const older = deliveries.slice(0, head);
  const isBehindJob =
    without !== 'an older delivery with a job of its own is waited for' &&
    older.some(({ isInOrder }) => isInOrder);
  const isBehindEvent =
    without !== 'an older event on its queue is waited for' &&
    older.some(({ place }) => place === 'to be fanned out');
  if (begun === undefined && (isBehindJob || isBehindEvent))
    return yield ordinary(`run ${number} has ${head} wait`, withLane(state, { job: 'delayed' }));
  const wentTogether = begun !== undefined && lane.members !== undefined;
  const taken = withLane(state, { job: activeFor(number), head });
  yield ordinary(
    `run ${number} TAKEs ${head}`,
    withRun(taken, number, { ...IDLE, at: 'has the lane', head, wentTogether }),
  );
}

function* runSteps(
  world: World,
  state: OrderedBatchState,
  number: number,
  run: Run,
): Iterable<Step<OrderedBatchState>> {
  const { without } = world;
  const { head, wentTogether, going } = run;
  const isOwner = state.lane.job === activeFor(number);
  const step = (name: string, change: Partial<Run>, from = state) =>
    ordinary(`run ${number} ${name}`, withRun(from, number, { ...run, ...change }));
  switch (run.at) {
    case 'has the lane': {
      const over = { read: [head], going: [], at: 'recorded' } as const;
      if (state.deliveries[head]?.hasEnded) yield step(`finds the end of ${head}`, over);
      else yield read(world, state, number, run);
      break;
    }
    case 'has read': {
      const open = run.read.filter(
        (index) => without === 'what has ended goes no more' || !state.deliveries[index]?.hasEnded,
      );
      const name = `loads ${run.read.join()}`;
      const mayGo = open[0] === head || without === 'none goes in place of a head that has ended';
      if (open.length === 0 || !mayGo) yield step(name, { at: 'recorded' });
      else {
        const at = wentTogether || open.length === 1 ? 'knows all' : 'has loaded';
        yield step(name, { at, going: open });
      }
      break;
    }
    case 'has loaded': {
      const early = 'older events are looked for before deliveries with jobs of their own';
      if (without === early) yield lookForJobs(world, state, number, run, 'knows jobs');
      else yield lookForEvents(world, state, number, run, 'knows events');
      break;
    }
    case 'knows events':
      yield lookForJobs(world, state, number, run, 'may keep');
      break;
    case 'knows jobs':
      yield lookForEvents(world, state, number, run, 'may keep');
      break;
    case 'may keep':
      yield keep(world, state, number, run);
      break;
    case 'knows all':
      if (isOwner || without === 'only the owner of the lock starts a request') {
        const unrecorded = going.some((index) => state.deliveries[index]?.hasEnded) ? undefined : going;
        const sent = withDeliveries({ ...state, unrecorded }, going, { wasSent: true });
        yield step(`sends ${going.join()}`, { at: 'sending' }, sent);
      } else yield step('finds that its lock is lost', IDLE);
      break;
    case 'sending':
      for (const answer of answersTo(going, state))
        yield step(`gets its answer: ${answer}`, { at: 'answered', answer });
      break;
    case 'answered': {
      const recorded = record(state, number, run);
      if (world.bounds.record === 'before the end')
        yield step(`records ${going.join()}`, { at: 'recorded' }, recorded);
      else yield end(world, recorded, number, run);
      break;
    }
    case 'recorded':
      yield end(world, state, number, run);
      break;
    case 'idle':
      return;
  }
  if (!isOwner || state.faultsLeft === 0) return;
  const lost = withLane(state, { job: 'crashed' });
  yield accident(`run ${number} crashes`, faulty(withRun(lost, number, IDLE)));
  yield accident(`run ${number} loses its lock`, faulty(lost));
}

/** Those that went together, or else the first ones of the lane: only the first one is sure to go. */
function read(
  { bounds, without }: World,
  state: OrderedBatchState,
  number: number,
  run: Run,
): Step<OrderedBatchState> {
  const { job, head, members = [] } = state.lane;
  if (job !== activeFor(number))
    return ordinary(`run ${number} can't read its lane any more`, withRun(state, number, IDLE));
  const former = members.filter((index) => isEntry(state, index));
  const entries = entriesOf(state);
  const areFormer = former.length > 0 && former[0] === head;
  const first = areFormer ? former : entries.slice(0, bounds.most);
  const isEarly = without === 'members are noted only once it is known what goes';
  const noted = areFormer || isEarly ? first : first.slice(0, 1);
  const begun = withLane(state, { head: first[0], members: noted });
  return ordinary(
    `run ${number} READs ${first.join()}`,
    withRun(begun, number, { ...run, at: 'has read', read: first }),
  );
}

function lookForEvents(
  { without }: World,
  state: OrderedBatchState,
  number: number,
  run: Run,
  at: Run['at'],
): Step<OrderedBatchState> {
  const older = state.deliveries.slice(0, run.going.at(-1));
  const waits =
    without !== 'an older event on its queue is waited for' &&
    older.some(({ place }) => place === 'to be fanned out');
  const change = waits ? ({ at: 'knows all', going: [run.head] } as const) : { at };
  return ordinary(`run ${number} looks for older events`, withRun(state, number, { ...run, ...change }));
}

/** Only what is before the first one with a job of its own goes. */
function lookForJobs(
  { without }: World,
  state: OrderedBatchState,
  number: number,
  run: Run,
  at: Run['at'],
): Step<OrderedBatchState> {
  const first = state.deliveries.findIndex(({ place }) => place === 'own job');
  const waits = first >= 0 && without !== 'an older delivery with a job of its own is waited for';
  const going = run.going.filter((index) => index === run.head || !waits || index < first);
  const next = going.length > 1 ? at : 'knows all';
  return ordinary(`run ${number} looks for older jobs`, withRun(state, number, { ...run, going, at: next }));
}

/** Just before the request. If others are between them by now, the first one goes alone. */
function keep(
  { without }: World,
  state: OrderedBatchState,
  number: number,
  run: Run,
): Step<OrderedBatchState> {
  const last = run.going.at(-1) ?? 0;
  const isOther = entriesOf(state).some((index) => index < last && !run.read.includes(index));
  const waits = isOther && without !== 'what came between them meanwhile is waited for';
  const next = withRun(state, number, {
    ...run,
    at: 'knows all',
    going: waits ? run.going.slice(0, 1) : run.going,
  });
  if (waits) return ordinary(`run ${number} finds others between`, next);
  const isOwner = state.lane.job === activeFor(number);
  const mayNote = isOwner || without === 'only the owner of the lock notes what goes';
  const name = `run ${number} KEEPs ${run.going.join()} together`;
  if (!mayNote || without === 'members are noted before their request') return ordinary(name, next);
  return ordinary(name, withLane(next, { head: run.going[0], members: run.going }));
}

/** Those that were rejected once are accepted. */
function answersTo(going: readonly number[], { deliveries }: OrderedBatchState): readonly Answer[] {
  if (going.some((index) => deliveries[index]?.wasRejected)) return ['accepted'];
  return going.length > 1 ? ['accepted', 'rejected', 'rejected in part'] : ['accepted', 'rejected'];
}

/** A log that was appended to since takes no failure. */
function record(state: OrderedBatchState, number: number, run: Run): OrderedBatchState {
  const { going, answer, changed } = run;
  const accepted = answer === 'accepted' ? going : answer === 'rejected in part' ? going.slice(1) : [];
  const rejected = going.filter((index) => !accepted.includes(index) && !changed.includes(index));
  const deliveries = state.deliveries.map((old, index) =>
    accepted.includes(index) ? { ...old, accepted: old.accepted + 1 } : old,
  );
  const failed = withDeliveries({ ...state, deliveries }, rejected, { wasRejected: true });
  const own = failed.runs[number] ?? IDLE;
  return withRun(ended(appended(failed, rejected), accepted), number, own);
}

/** Those that have ended leave the lane. The others go together again; if there are none, it goes on. */
function end(
  { without }: World,
  state: OrderedBatchState,
  number: number,
  run: Run,
): Step<OrderedBatchState> {
  const name = `run ${number}: END`;
  const idle = withRun(state, number, IDLE);
  if (state.lane.job !== activeFor(number)) return ordinary(`${name}, too late`, idle);
  const over = run.read.filter((index) => state.deliveries[index]?.hasEnded);
  const left = run.going.filter((index) => !over.includes(index));
  const gone = withDeliveries(idle, over, { place: 'gone' });
  if (left.length > 0) {
    const members = without === 'those that failed together go together again' ? undefined : left;
    return ordinary(name, { ...gone, lane: { job: 'delayed', head: left[0], members } });
  }
  return ordinary(name, { ...gone, lane: { job: entriesOf(gone).length > 0 ? 'waiting' : 'absent' } });
}

function forbiddenWithin({ faults }: OrderedBatchBounds): Watches<OrderedBatchState> {
  return {
    'a first request before that of an older one that has not ended': ({ before, after }) =>
      startsOf(before, after).some(({ going }) =>
        going.some(
          (index) =>
            !before.deliveries[index]?.wasSent &&
            before.deliveries.some(
              ({ hasEnded }, older) => older < index && !hasEnded && !going.includes(older),
            ),
        ),
      ),
    'another set than the one that was sent, though nothing is recorded of it': ({ before, after }) =>
      startsOf(before, after).some(
        ({ going }) =>
          before.unrecorded?.some((index) => going.includes(index)) &&
          before.unrecorded.join() !== going.join(),
      ),
    // If the head has ended that it went with, it goes as any other one.
    'a retry together with one that was not tried': ({ before: { deliveries }, after, before }) =>
      startsOf(before, after).some(({ going }) => {
        const retried = going.find((index) => deliveries[index]?.wasRejected) ?? -1;
        const hasHeadEnded = deliveries
          .slice(0, Math.max(retried, 0))
          .some(({ hasEnded, wasSent }) => hasEnded && wasSent);
        return retried >= 0 && !hasHeadEnded && going.some((index) => !deliveries[index]?.wasSent);
      }),
    'a request with one that had ended when its run loaded it': ({ before, after }) =>
      startsOf(before, after).some(({ going, changed }) =>
        going.some((index) => before.deliveries[index]?.hasEnded && !changed.includes(index)),
      ),
    'one that is accepted more often than faults explain': ({ after }) =>
      after.deliveries.some(({ accepted }) => accepted > 1 + faults - after.faultsLeft),
    'a request that starts beside one whose run has the lock': ({ before, after }) =>
      startsOf(before, after).length > 0 &&
      before.runs.some(({ at }, number) => at === 'sending' && before.lane.job === activeFor(number)),
    'a lane with entries and no job': ({ after }) =>
      after.lane.job === 'absent' && entriesOf(after).length > 0,
    'an entry gone before its end is on record': ({ after }) =>
      after.deliveries.some(({ place, hasEnded }) => place === 'gone' && !hasEnded),
  };
}

const possible: Watches<OrderedBatchState> = {
  'several in one request': ({ after }) =>
    after.runs.some(({ at, going }) => at === 'sending' && going.length > 1),
  'one alone, as an older one is to come behind it': ({ before, after }) =>
    startsOf(before, after).some(
      ({ going: [index = 0, ...others] }) =>
        others.length === 0 &&
        entriesOf(before).length > 1 &&
        before.deliveries.some(({ place }, other) => other > index && /fanned out|own job/.test(place)),
    ),
  'several that go together again': ({ before, after }) =>
    startsOf(before, after).some(
      ({ wentTogether, going }) =>
        wentTogether && going.length > 1 && going.every((index) => before.deliveries[index]?.wasSent),
    ),
  'one that goes again without another that has ended': ({ before, after }) =>
    startsOf(before, after).some(
      ({ going, wentTogether }) => wentTogether && going.length < (before.lane.members ?? []).length,
    ),
  'all accepted': ({ after }) => after.deliveries.every(({ accepted }) => accepted > 0),
};

function startsOf(before: OrderedBatchState, after: OrderedBatchState): readonly Run[] {
  return after.runs.filter(({ at }, number) => at === 'sending' && before.runs[number]?.at !== 'sending');
}

function activeFor(number: number): Job {
  return `active:${number}`;
}

function isEntry({ deliveries }: OrderedBatchState, index: number): boolean {
  return deliveries[index]?.place === 'entry';
}

function entriesOf({ deliveries }: OrderedBatchState): readonly number[] {
  return deliveries.flatMap(({ place }, index) => (place === 'entry' ? [index] : []));
}

function entered(state: OrderedBatchState, index: number): OrderedBatchState {
  const added = withDeliveries(state, [index], { place: 'entry' });
  return added.lane.job === 'absent' ? withLane(added, { job: 'waiting' }) : added;
}

function ended(state: OrderedBatchState, indexes: readonly number[]): OrderedBatchState {
  return appended(withDeliveries(state, indexes, { hasEnded: true, isInOrder: false }), indexes);
}

/** A run that has loaded their logs does not know of it. */
function appended(state: OrderedBatchState, indexes: readonly number[]): OrderedBatchState {
  const isOfThem = (index: number) => indexes.includes(index);
  const runs = state.runs.map((run) => {
    const news = run.going.filter((index) => isOfThem(index) && !run.changed.includes(index));
    return news.length > 0 ? { ...run, changed: [...run.changed, ...news].toSorted() } : run;
  });
  return { ...state, runs, unrecorded: state.unrecorded?.some(isOfThem) ? undefined : state.unrecorded };
}

function withDeliveries(
  state: OrderedBatchState,
  indexes: readonly number[],
  change: Partial<Delivery>,
): OrderedBatchState {
  const deliveries = state.deliveries.map((old, index) =>
    indexes.includes(index) ? { ...old, ...change } : old,
  );
  return { ...state, deliveries };
}

function withLane(state: OrderedBatchState, change: Partial<OrderedLane>): OrderedBatchState {
  return { ...state, lane: { ...state.lane, ...change } };
}

function withRun(state: OrderedBatchState, number: number, run: Run): OrderedBatchState {
  return { ...state, runs: state.runs.map((old, at) => (at === number ? run : old)) };
}

function faulty(state: OrderedBatchState): OrderedBatchState {
  return { ...state, faultsLeft: state.faultsLeft - 1 };
}

/** Which of the runs it is makes no difference. */
function keyOf({ deliveries, lane, unrecorded, runs, faultsLeft }: OrderedBatchState): string {
  const ofRuns = runs.map((run, number) => JSON.stringify([run, lane.job === activeFor(number)])).toSorted();
  const { job, head, members } = lane;
  const ofLane = [job.startsWith('active:') ? 'owned' : job, head, members];
  return JSON.stringify([deliveries, ofLane, unrecorded, ofRuns, faultsLeft]);
}
