import type { Taken, Watches } from './explore';
import type { End } from './one-job-state';

// What the two kinds of lanes have in common: attempts and their record, the locks of jobs, and the scripts by which a run
// lets go of its job. A lane's deliveries have one job together, so a run and a script are about a delivery or the lane.

export type Subject = number | 'lane';

export interface LaneDelivery {
  /** Half added only if a rule is taken away. */
  readonly publish: 'new' | 'half added' | 'added' | 'acknowledged';
  /** Its own: in an ordered lane only after it has failed for good. */
  readonly job: LaneJob;
  /** In the order of those that have jobs of their own beside an ordered lane. */
  readonly isInOrder: boolean;
  /** In the lane, and so without a job of its own. */
  readonly isEntry: boolean;
  readonly end: End;
  readonly failures: number;
  /** Whether the time of its next attempt has come. */
  readonly isDue: boolean;
  readonly wasSent: boolean;
}

/** Two are enough: a run's next fetch has another one than its script that may be on its way still. */
type Token = 0 | 1;

export type LaneJob =
  | 'absent'
  | 'waiting'
  | 'delayed:retry'
  | 'delayed:held'
  | 'failed'
  | `active:${number}.${Token}`
  | 'active:crashed'
  | 'active:expired';

/** What a run has done last; the last six are where it lets go of its job. */
export type Place =
  | 'idle'
  | 'fetched'
  | 'loaded'
  | 'admitted'
  | 'sending'
  | 'succeeded'
  | 'failed'
  | 'over'
  | 'retrying'
  | 'poisoned'
  | 'refused'
  | 'leaving'
  | 'releasing'
  | 'empty';

export interface LaneRun {
  readonly at: Place;
  readonly of: Subject;
  readonly token: Token;
  /** Whether nothing was appended to the log since it has loaded it. */
  readonly isLogAsLoaded: boolean;
  /** Whether others were in the lane when it took its job. A protocol that relies on it is wrong. */
  readonly sawOthers: boolean;
}

export const IDLE: LaneRun = { at: 'idle', of: 'lane', token: 0, isLogAsLoaded: true, sawOthers: false };

/** Sent by a run that is done with its job. */
export interface Script {
  readonly kind: 'END' | 'RETRY' | 'HOLD' | 'FAIL' | 'RELEASE';
  readonly number: number;
  readonly token: Token;
  readonly of: Subject;
  readonly sawOthers: boolean;
}

export interface LaneState {
  readonly deliveries: readonly LaneDelivery[];
  /** The lane's. */
  readonly job: LaneJob;
  /** Of an ordered lane: the delivery that has begun, and keeps its turn until it ends. */
  readonly head?: number | undefined;
  readonly runs: readonly LaneRun[];
  readonly isGateOpen: boolean;
  /** What Redis has run already, and gets once more: its reply was lost with the connection. */
  readonly repeated?: Script | undefined;
  readonly faultsLeft: number;
}

export interface LaneBounds {
  readonly deliveries: number;
  /** Failures until a delivery is exhausted. */
  readonly attempts: number;
  /** How often a run crashes, loses its lock, or loses the reply to what it sends. */
  readonly faults: number;
  /** Whether a delivery is also cancelled, added again or brought forward, and an entry that is over taken away. */
  readonly accidents: 'all' | 'none';
  /** Whether a run may fail for good: of an ordered lane. */
  readonly poison?: boolean;
  /** On one server the script of the record is also the one by which the run lets go. In a Cluster it comes before. */
  readonly record: 'with the end' | 'before the end';
}

/** What attempts rely on in either kind of lane. */
export type AttemptRule = 'only the owner of the lock starts a request' | 'a recorded end stays';

/** What is different between the kinds. */
export interface Lane {
  readonly bounds: LaneBounds;
  readonly without: string | undefined;
  /** What has a job: the lane, and each delivery if they may have their own. */
  readonly subjects: readonly Subject[];
  jobOf(state: LaneState, of: Subject): LaneJob;
  withJob(state: LaneState, of: Subject, job: LaneJob): LaneState;
  /** The script that a publisher sends. Repeating it is harmless. */
  add(state: LaneState, index: number): LaneState;
  /** What Redis makes of a script of a run. */
  run(state: LaneState, script: Script): LaneState;
}

const RUNS = 2;

export function newLane({ deliveries, faults }: LaneBounds): LaneState {
  return {
    deliveries: Array.from({ length: deliveries }, newDelivery),
    job: 'absent',
    runs: Array.from({ length: RUNS }, () => IDLE),
    isGateOpen: true,
    faultsLeft: faults,
  };
}

function newDelivery(): LaneDelivery {
  return {
    publish: 'new',
    job: 'absent',
    isInOrder: false,
    isEntry: false,
    end: 'none',
    failures: 0,
    isDue: true,
    wasSent: false,
  };
}

export function hasEntries({ deliveries }: LaneState): boolean {
  return deliveries.some(({ isEntry }) => isEntry);
}

export function isOwnerOf(
  lane: Lane,
  state: LaneState,
  { number, token, of }: Pick<Script, 'number' | 'token' | 'of'>,
): boolean {
  return lane.jobOf(state, of) === lockOf(number, token);
}

/** Takes away an entry that is over. The lane's job goes only if nothing is left, and nobody is at it. */
export function withoutEntry(lane: Lane, state: LaneState, index: number): LaneState {
  const left = withDelivery(state, index, { isEntry: false });
  const stays = hasEntries(left) || lane.jobOf(left, 'lane').startsWith('active:');
  return stays ? left : lane.withJob(left, 'lane', 'absent');
}

export function withDelivery(state: LaneState, index: number, change: Partial<LaneDelivery>): LaneState {
  const deliveries = state.deliveries.map((old, at) => (at === index ? { ...old, ...change } : old));
  return { ...state, deliveries };
}

export function withRun(state: LaneState, number: number, run: LaneRun): LaneState {
  return { ...state, runs: state.runs.map((old, at) => (at === number ? run : old)) };
}

/** Whoever has loaded the log does not know of what was appended since. */
export function withAppend(state: LaneState, index: number): LaneState {
  const runs = state.runs.map((run) => (run.of === index ? { ...run, isLogAsLoaded: false } : run));
  return { ...state, runs };
}

export function lockOf(number: number, token: Token): LaneJob {
  return `active:${number}.${token}`;
}

/** What must never be seen in either kind of lane. */
export function forbiddenInLanes({ jobOf }: Pick<Lane, 'jobOf'>): Watches<LaneState> {
  const hasLock = (state: LaneState, { of, token }: LaneRun, number: number) =>
    jobOf(state, of) === lockOf(number, token);
  return {
    'a lane with entries and no job': ({ after }) =>
      jobOf(after, 'lane') === 'absent' &&
      after.deliveries.some(({ isEntry, publish }) => isEntry && publish !== 'half added'),
    'a request that starts beside one whose run has the lock': (taken) =>
      startsOf(taken).some(({ of }) =>
        taken.before.runs.some(
          (run, number) => run.at === 'sending' && jobOf(taken.before, of) === lockOf(number, run.token),
        ),
      ),
    'a request that starts after an end that its run has loaded': (taken) =>
      startsOf(taken).some(
        ({ of, isLogAsLoaded }) => isLogAsLoaded && deliveryOf(taken.before, of)?.end !== 'none',
      ),
    'an end that was taken back': ({ before, after }) =>
      before.deliveries.some(({ end }, index) => {
        const next = after.deliveries[index]?.end;
        return end !== 'none' && next !== end && next !== 'delivered';
      }),
    // But for a lock that is lost, which takes a fault.
    'a job that is moved away from the run that has its lock': ({ before, after }) =>
      before.faultsLeft === after.faultsLeft &&
      before.runs.some(
        (run, number) =>
          run.at !== 'idle' &&
          after.runs[number]?.at === run.at &&
          hasLock(before, run, number) &&
          !hasLock(after, run, number),
      ),
  };
}

/** The runs whose request starts with this step. */
export function startsOf({ before, after }: Taken<LaneState>): readonly LaneRun[] {
  return after.runs.filter(({ at }, number) => at === 'sending' && before.runs[number]?.at !== 'sending');
}

export function deliveryOf({ deliveries }: LaneState, of: Subject): LaneDelivery | undefined {
  return of === 'lane' ? undefined : deliveries[of];
}

export function areAllIdle({ runs, repeated }: LaneState): boolean {
  return !repeated && runs.every(({ at }) => at === 'idle');
}

/** Which of the runs it is makes no difference, nor which of its tokens: one state stands for all that differ in that. */
export function keyOfRuns({ jobOf }: Pick<Lane, 'jobOf'>, state: LaneState): string {
  const keys = state.runs.map((run, number) => {
    const { repeated } = state;
    const script = repeated?.number === number ? `${repeated.kind} ${repeated.of} ${repeated.sawOthers}` : '';
    if (run.at === 'idle') return `idle ${script}`;
    const isScriptOfThis = script !== '' && repeated?.token === run.token;
    const isOwner = jobOf(state, run.of) === lockOf(number, run.token);
    return `${run.at} ${run.of} ${run.isLogAsLoaded} ${run.sawOthers} ${isOwner} ${script} ${isScriptOfThis}`;
  });
  return keys.toSorted().join();
}

export function keyOfJob(job: LaneJob): string {
  return /^active:\d/.test(job) ? 'owned' : job;
}
