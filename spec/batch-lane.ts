import { accident, ordinary, type Protocol, type Step, type Watches } from './explore';

/** What batches rely on: the test takes each away and sees what breaks. */
export type BatchRule =
  | 'a batch is formed by one script'
  | 'a batch is split by one script'
  | 'what is in a batch gets no entry'
  | 'a job is moved by the owner of its lock only'
  | 'only the owner of the lock starts a request'
  | 'a batch keeps its deliveries until they have ended';

export interface BatchBounds {
  readonly deliveries: number;
  /** How many go in one request at most. */
  readonly most: number;
  /** How often a run crashes, loses its lock, or loses the reply to what it sends. */
  readonly faults: number;
}

interface Choices {
  readonly bounds: BatchBounds;
  readonly without?: BatchRule;
}

type Job = 'absent' | 'waiting' | 'delayed' | 'crashed' | `active:${number}`;

interface Delivery {
  readonly isKnown: boolean;
  readonly isEntry: boolean;
  readonly hasEnded: boolean;
  /** Whether it was rejected once: it is taken the next time. */
  readonly wasRejected: boolean;
}

interface Batch {
  readonly members: readonly number[];
  readonly job: Job;
  /** Whether a request with them was begun, and nothing of it is recorded. */
  readonly isSent: boolean;
}

interface Run {
  readonly at: 'idle' | 'has the lane' | 'has a batch' | 'sending' | 'answered';
  readonly members: readonly number[];
  readonly answer?: Answer;
}

type Answer = 'taken' | 'refused' | 'rejected in part' | 'too large';

interface BatchState {
  readonly deliveries: readonly Delivery[];
  readonly lane: Job;
  readonly batches: readonly Batch[];
  readonly runs: readonly Run[];
  readonly faultsLeft: number;
}

const RUNS = 2;
const IDLE: Run = { at: 'idle', members: [] };

/**
 * A lane whose deliveries go in batches, in no order.
 *
 *     ADD ─▶ entry ─ FORM ─▶ member of a batch ─ END ─▶ gone, or member of another batch
 *
 *     the lane's job: waiting ─▶ active ─ FORM ─▶ waiting, while others wait, or gone
 *     a batch's job:  active ─ END ─▶ delayed ─▶ waiting ─▶ active, or gone with the last of its deliveries
 */
export function batchLane({ bounds, without }: Choices): Protocol<BatchState> {
  return {
    initial: {
      deliveries: Array.from({ length: bounds.deliveries }, () => ({
        isKnown: false,
        isEntry: false,
        hasEnded: false,
        wasRejected: false,
      })),
      lane: 'absent',
      batches: [],
      runs: Array.from({ length: RUNS }, () => IDLE),
      faultsLeft: bounds.faults,
    },
    stepsFrom: (state) => stepsFrom(state, bounds, without),
    keyOf,
    forbidden,
    possible,
    isAtRest: ({ deliveries, lane, batches, runs }) =>
      lane === 'absent' &&
      batches.length === 0 &&
      runs.every(({ at }) => at === 'idle') &&
      deliveries.every(({ isKnown, isEntry, hasEnded }) => isKnown && !isEntry && hasEnded),
  };
}

function* stepsFrom(
  state: BatchState,
  { most }: BatchBounds,
  without: BatchRule | undefined,
): Iterable<Step<BatchState>> {
  for (const [index, delivery] of state.deliveries.entries()) {
    if (!delivery.isKnown) yield ordinary(`ADD, ${index}`, added(state, index, without));
    else if (!delivery.hasEnded) yield accident(`ADD is repeated, ${index}`, added(state, index, without));
  }
  if (state.lane === 'crashed') yield ordinary('the lane is put back', { ...state, lane: 'waiting' });
  for (const [number, batch] of state.batches.entries()) yield* batchSteps(state, number, batch, without);
  for (const [number, run] of state.runs.entries()) yield* runSteps(state, number, run, most, without);
}

function* batchSteps(
  state: BatchState,
  number: number,
  batch: Batch,
  without: BatchRule | undefined,
): Iterable<Step<BatchState>> {
  const name = `the batch of ${batch.members.join()}`;
  if (batch.job === 'delayed') yield ordinary(`${name} is due`, withBatch(state, number, { job: 'waiting' }));
  if (batch.job !== 'crashed') return;
  if (without === 'a batch keeps its deliveries until they have ended') {
    yield ordinary(`${name} is dissolved`, dissolved(state, number));
  } else yield ordinary(`${name} is put back`, withBatch(state, number, { job: 'waiting' }));
}

function* runSteps(
  state: BatchState,
  number: number,
  run: Run,
  most: number,
  without: BatchRule | undefined,
): Iterable<Step<BatchState>> {
  const name = `run ${number}`;
  if (run.at === 'idle') {
    if (state.lane === 'waiting') {
      const taken = { ...state, lane: activeFor(number) };
      yield ordinary(`${name} takes the lane`, withRun(taken, number, { at: 'has the lane', members: [] }));
      if (state.faultsLeft > 0)
        yield accident(`${name} never learns of the lane`, faulty({ ...state, lane: 'crashed' }));
    }
    for (const [at, { job, members }] of state.batches.entries()) {
      if (job !== 'waiting') continue;
      const taken = withBatch(state, at, { job: activeFor(number) });
      yield ordinary(
        `${name} takes the batch of ${members.join()}`,
        withRun(taken, number, { at: 'has a batch', members }),
      );
    }
    return;
  }
  const own = indexOfOwn(state, number);
  if (state.faultsLeft > 0) yield* faults(state, number, run, own);
  switch (run.at) {
    case 'has the lane':
      yield* form(state, number, most, without);
      return;
    case 'has a batch': {
      const left = run.members.filter((member) => !state.deliveries[member]?.hasEnded);
      const mayStart = own !== -1 || without === 'only the owner of the lock starts a request';
      if (!mayStart || left.length === 0) yield* end(state, number, 'taken', without);
      else {
        const noted = own === -1 ? state : withBatch(state, own, { isSent: true });
        yield ordinary(
          `${name} sends ${left.join()}`,
          withRun(noted, number, { at: 'sending', members: left }),
        );
      }
      return;
    }
    case 'sending':
      for (const answer of answersTo(run.members, state)) {
        yield ordinary(
          `${name} gets its answer: ${answer}`,
          withRun(state, number, { ...run, at: 'answered', answer }),
        );
      }
      return;
    case 'answered':
      yield* end(state, number, run.answer ?? 'taken', without);
  }
}

function* faults(state: BatchState, number: number, run: Run, own: number): Iterable<Step<BatchState>> {
  const ofLane = run.at === 'has the lane';
  const isOwner = ofLane ? state.lane === activeFor(number) : own !== -1;
  if (!isOwner) return;
  const lost = ofLane ? { ...state, lane: 'crashed' as const } : withBatch(state, own, { job: 'crashed' });
  yield accident(`run ${number} crashes`, faulty(withRun(lost, number, IDLE)));
  yield accident(`run ${number} loses its lock`, faulty(lost));
}

/** Those that were rejected once are taken. */
function answersTo(members: readonly number[], { deliveries }: BatchState): readonly Answer[] {
  const fresh = members.filter((member) => !deliveries[member]?.wasRejected);
  if (fresh.length === 0) return ['taken'];
  return members.length > 1 ? ['taken', 'refused', 'rejected in part', 'too large'] : ['taken', 'refused'];
}

function* form(
  state: BatchState,
  number: number,
  most: number,
  without: BatchRule | undefined,
): Iterable<Step<BatchState>> {
  const isOwner = state.lane === activeFor(number);
  if (!isOwner && without !== 'a job is moved by the owner of its lock only') {
    yield ordinary(`run ${number} finds that it has lost the lane`, withRun(state, number, IDLE));
    return;
  }
  const waiting = state.deliveries.flatMap(({ isEntry }, index) => (isEntry ? [index] : []));
  const members = waiting.slice(0, most);
  const entries = waiting.slice(most);
  const lane: Job = entries.length > 0 ? 'waiting' : 'absent';
  const gone = withDeliveries({ ...state, lane }, members, { isEntry: false });
  if (members.length === 0) {
    yield ordinary(`run ${number} finds the lane empty`, withRun({ ...state, lane: 'absent' }, number, IDLE));
    return;
  }
  const batch: Batch = { members, job: activeFor(number), isSent: false };
  const formed = { ...gone, batches: [...gone.batches, batch] };
  const name = `run ${number}: FORM, ${members.join()}`;
  yield ordinary(name, withRun(formed, number, { at: 'has a batch', members }));
  if (state.faultsLeft === 0) return;
  const crashed = { ...gone, batches: [...gone.batches, { ...batch, job: 'crashed' as const }] };
  yield accident(`${name}, and its reply is lost`, faulty(withRun(crashed, number, IDLE)));
  if (without === 'a batch is formed by one script') {
    yield accident(`${name}, half of it`, faulty(withRun(gone, number, IDLE)));
  }
}

/** The record, and what becomes of each, in one script. A run that has lost its batch records late: only a success counts. */
function* end(
  state: BatchState,
  number: number,
  answer: Answer,
  without: BatchRule | undefined,
): Iterable<Step<BatchState>> {
  const { members } = state.runs[number] ?? IDLE;
  const own = indexOfOwn(state, number);
  const isOwner = own !== -1;
  const wasSent = state.runs[number]?.at === 'answered';
  const delivered = wasSent ? deliveredBy(answer, members, state) : [];
  const rejected = answer === 'too large' ? [] : members.filter((member) => !delivered.includes(member));
  const recorded = withDeliveries(
    withDeliveries(state, delivered, { hasEnded: true }),
    wasSent && isOwner ? rejected : [],
    { wasRejected: true },
  );
  const name = `run ${number}: END`;
  if (!isOwner) {
    yield ordinary(`${name}, too late`, withRun(recorded, number, IDLE));
    return;
  }
  const left = (state.batches[own]?.members ?? []).filter((member) => !recorded.deliveries[member]?.hasEnded);
  const half = Math.ceil(left.length / 2);
  const groups = answer === 'too large' ? [left.slice(0, half), left.slice(half)] : [left];
  const without_it = { ...recorded, batches: recorded.batches.filter((_, at) => at !== own) };
  const next = groups
    .filter((group) => group.length > 0)
    .map((group): Batch => ({ members: group, job: 'delayed', isSent: false }));
  const ended = { ...without_it, batches: [...without_it.batches, ...next] };
  yield ordinary(name, withRun(ended, number, IDLE));
  if (state.faultsLeft > 0 && without === 'a batch is split by one script' && next.length > 1) {
    const half_done = { ...without_it, batches: [...without_it.batches, ...next.slice(0, 1)] };
    yield accident(`${name}, half of it`, faulty(withRun(half_done, number, IDLE)));
  }
}

function deliveredBy(
  answer: Answer,
  members: readonly number[],
  { deliveries }: BatchState,
): readonly number[] {
  if (answer === 'taken') return members;
  if (answer !== 'rejected in part') return [];
  return members.filter((member, at) => at === 0 || deliveries[member]?.wasRejected);
}

function added(state: BatchState, index: number, without: BatchRule | undefined): BatchState {
  const ofIt = state.batches.filter(({ members }) => members.includes(index)).length;
  const known = withDeliveries(state, [index], { isKnown: true });
  // Twice is enough.
  if (ofIt > (without === 'what is in a batch gets no entry' ? 1 : 0)) return known;
  const lane = state.lane === 'absent' ? 'waiting' : state.lane;
  return { ...withDeliveries(known, [index], { isEntry: true }), lane };
}

function dissolved(state: BatchState, number: number): BatchState {
  const members = state.batches[number]?.members ?? [];
  const batches = state.batches.filter((_, at) => at !== number);
  const open = members.filter((member) => !state.deliveries[member]?.hasEnded);
  const lane = state.lane === 'absent' && open.length > 0 ? 'waiting' : state.lane;
  return withDeliveries({ ...state, batches, lane }, open, { isEntry: true });
}

const forbidden: Watches<BatchState> = {
  'a known delivery that is nowhere': ({ after }) =>
    after.deliveries.some(
      ({ isKnown, isEntry, hasEnded }, index) =>
        isKnown && !hasEnded && !isEntry && !after.batches.some(({ members }) => members.includes(index)),
    ),
  'a delivery in two places': ({ after }) =>
    after.deliveries.some(({ isEntry }, index) => {
      const batches = after.batches.filter(({ members }) => members.includes(index)).length;
      return batches + Number(isEntry) > 1;
    }),
  'a lane with entries and no job': ({ after }) =>
    after.lane === 'absent' && after.deliveries.some(({ isEntry }) => isEntry),
  'a request that starts beside one whose run has the lock': ({ before, after }) =>
    startsOf(before, after).some((members) =>
      before.runs.some(
        (run, number) =>
          run.at === 'sending' &&
          indexOfOwn(before, number) !== -1 &&
          run.members.some((member) => members.includes(member)),
      ),
    ),
  'another set than the one that was sent, though nothing is recorded of it': ({ before, after }) =>
    before.batches.some(
      ({ members, isSent }) =>
        isSent &&
        members.every((member) => !after.deliveries[member]?.hasEnded) &&
        !after.batches.some((other) => other.members.join() === members.join()) &&
        after.deliveries.some(({ isEntry }, index) => isEntry && members.includes(index)),
    ),
  'a batch that is moved away from the run that has its lock': ({ before, after }) =>
    before.faultsLeft === after.faultsLeft &&
    before.lane.startsWith('active:') &&
    after.lane !== before.lane &&
    before.runs.every(
      (run, number) =>
        run.at !== 'has the lane' || after.runs[number] === run || before.lane !== activeFor(number),
    ),
};

const possible: Watches<BatchState> = {
  'a batch of several': ({ after }) => after.batches.some(({ members }) => members.length > 1),
  'two batches at once': ({ after }) => after.batches.length > 1,
  'a batch that is sent again as it was': ({ before, after }) =>
    startsOf(before, after).some((members) =>
      before.batches.some((batch) => batch.isSent && batch.members.join() === members.join()),
    ),
  'all delivered': ({ after }) => after.deliveries.every(({ hasEnded }) => hasEnded),
};

function startsOf(before: BatchState, after: BatchState): readonly (readonly number[])[] {
  return after.runs.flatMap(({ at, members }, number) =>
    at === 'sending' && before.runs[number]?.at !== 'sending' ? [members] : [],
  );
}

function activeFor(number: number): Job {
  return `active:${number}`;
}

function indexOfOwn({ batches }: BatchState, number: number): number {
  return batches.findIndex(({ job }) => job === activeFor(number));
}

function withDeliveries(
  state: BatchState,
  indexes: readonly number[],
  change: Partial<Delivery>,
): BatchState {
  const deliveries = state.deliveries.map((old, index) =>
    indexes.includes(index) ? { ...old, ...change } : old,
  );
  return { ...state, deliveries };
}

function withBatch(state: BatchState, number: number, change: Partial<Batch>): BatchState {
  return { ...state, batches: state.batches.map((old, at) => (at === number ? { ...old, ...change } : old)) };
}

function withRun(state: BatchState, number: number, run: Run): BatchState {
  return { ...state, runs: state.runs.map((old, at) => (at === number ? run : old)) };
}

function faulty(state: BatchState): BatchState {
  return { ...state, faultsLeft: state.faultsLeft - 1 };
}

function keyOf({ deliveries, lane, batches, runs, faultsLeft }: BatchState): string {
  const ofBatches = batches
    .map(({ members, job, isSent }) => `${members.join()} ${job} ${isSent}`)
    .toSorted();
  return JSON.stringify([deliveries, lane, ofBatches, runs, faultsLeft]);
}
