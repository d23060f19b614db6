import { accident, ordinary, type Protocol, type Step, type Watches } from './explore';

/** What deliveries rely on while they move to another shard: the test takes each away and sees what breaks. */
export type ReshardingRule =
  | 'nothing moves to where a worker has it'
  | 'locks are asked for before places'
  | 'a delivery leaves only after it was seen in its new place'
  | 'an older delivery in another shard is waited for'
  | 'no request is sent while a worker has the delivery in another shard'
  | 'the newest waits while another shard has its lane'
  | 'the newest that waits for another shard is an entry there'
  | 'what was sent last moves with the entries'
  | 'what is requested again is an entry wherever its lane is'
  | 'a turn that has begun in another shard is waited for'
  | 'one that has its turn back looks again';

export interface ReshardingBounds {
  readonly deliveries: number;
  /** Each has one run at a time. */
  readonly workers: number;
  /** Failures until a delivery is exhausted. */
  readonly attempts: number;
  /** How often a worker crashes or loses a lock. */
  readonly faults: number;
  /** Where alone it does. Absent: anywhere. */
  readonly faultsAt?: 'has turn';
  /** Whether a delivery may also be added with a job of its own, as by a version before. */
  readonly ownJobs: boolean;
  /** Whether only the newest of the lane is sent. */
  readonly coalesces?: boolean;
  /** Whether the first delivery has ended before, and is asked for once more. */
  readonly redelivers?: boolean;
}

interface Choices {
  readonly bounds: ReshardingBounds;
  readonly without?: ReshardingRule;
}

/** By the layout of before, the webhook's home shard is 0; by the new one it is 1. */
type Shard = 0 | 1;
type InShards<Value> = readonly [Value, Value];

type Job = 'absent' | 'waiting' | 'delayed' | 'expired' | `active:${number}`;

interface Delivery {
  /** Whether its event was fanned out. */
  readonly isKnown: boolean;
  readonly isEntry: InShards<boolean>;
  /** Its own. */
  readonly job: InShards<Job>;
  readonly failures: number;
  readonly hasEnded: boolean;
  readonly wasSent: boolean;
  /** Whether an attempt of it is recorded. */
  readonly wasTried: boolean;
  readonly isSuperseded: boolean;
  /** It had ended, and is requested again. `added`: in this shard, and not acknowledged yet. */
  readonly request: 'none' | 'to come' | `added ${Shard}`;
  /** Whether a newer one had been sent and had ended by the time that was acknowledged. */
  readonly mayGoLast: boolean;
  /** Whether its turn had begun by the time that an older one was requested again. */
  readonly mayGoFirst: boolean;
  /** Whether its run has found its lane in another shard, with a newer one. */
  readonly hasWaited: boolean;
}

interface ShardLane {
  readonly job: Job;
  /** The delivery whose turn has begun. */
  readonly head?: number | undefined;
  /** The last one that was sent in place of older ones. */
  readonly sent?: number | undefined;
}

/** What a run of a lane at home has done last. */
type HeadPlace =
  | 'has head'
  | 'knows events'
  | 'is next'
  | 'is alone'
  | 'loaded'
  | 'has turn'
  | 'is last'
  | 'is newest'
  | 'sending'
  | 'over'
  | 'later';

/** What a run has done last that moves a lane or a job. */
type MovePlace = 'has job at home' | 'is misplaced' | 'listed' | 'added' | 'found nobody' | 'saw places';

interface Worker {
  /** By the layout that it knows. */
  readonly home: Shard;
  readonly at: 'idle' | HeadPlace | MovePlace;
  /** Where it has taken a job: that of the lane, or of a delivery. */
  readonly shard: Shard;
  readonly hasLane: boolean;
  /** The delivery that it runs, or those that it moves. */
  readonly of: readonly number[];
  readonly to: Shard;
  /** What was sent last in the lane, when it was taken. */
  readonly sent?: number | undefined;
  /** Whether it runs its delivery in place of older ones. */
  readonly goesAsNewest?: boolean;
}

export interface ReshardingState {
  readonly deliveries: readonly Delivery[];
  readonly lanes: InShards<ShardLane>;
  readonly workers: readonly Worker[];
  readonly faultsLeft: number;
}

const SHARDS = [0, 1] as const;
const MOVE_PLACES: ReadonlySet<string> = new Set<MovePlace>([
  'has job at home',
  'is misplaced',
  'listed',
  'added',
  'found nobody',
  'saw places',
]);
const IDLE = {
  at: 'idle',
  shard: 0,
  hasLane: true,
  of: [],
  to: 0,
  sent: undefined,
  goesAsNewest: false,
} as const;

/**
 * A lane in strict order while the queues are being split again. Each worker learns of the new layout at a moment of its own, and each
 * event is fanned out to either shard. The first delivery was accepted before the second.
 *
 *     a lane, or a job, where its worker does not see its home ─▶ read ─▶ nobody has it there ─▶ added there ─▶ seen there ─▶ gone here
 *     a job at home ─▶ entry of the lane
 *     a head at home ─▶ no older event ─▶ no older entry elsewhere ─▶ nobody has it elsewhere ─▶ log read ─▶ its turn begins
 *       ─▶ no other one's turn has begun elsewhere ─▶ sent ─▶ ended
 *     requested again ─▶ an entry at home, as the API sees it ─▶ one in the other shard, if that has the lane ─▶ acknowledged
 */
export function reshardedLane(choices: Choices): Protocol<ReshardingState> {
  const { deliveries, workers, faults, coalesces = false, redelivers = false } = choices.bounds;
  return {
    initial: {
      deliveries: Array.from({ length: deliveries }, (_, index) => ({
        isKnown: redelivers && index === 0,
        isEntry: [false, false],
        job: ['absent', 'absent'],
        failures: 0,
        hasEnded: redelivers && index === 0,
        wasSent: false,
        wasTried: false,
        isSuperseded: false,
        request: redelivers && index === 0 ? 'to come' : 'none',
        mayGoLast: false,
        mayGoFirst: false,
        hasWaited: false,
      })),
      lanes: [{ job: 'absent' }, { job: 'absent' }],
      workers: Array.from({ length: workers }, () => ({ home: 0, ...IDLE })),
      faultsLeft: faults,
    },
    stepsFrom: (state) => stepsFrom(choices, state),
    keyOf,
    forbidden: { ...forbidden, ...(coalesces ? forbiddenOfNewest : forbiddenInOrder) },
    possible,
    isAtRest: (state) =>
      state.deliveries.every(
        ({ hasEnded, request }, index) => hasEnded && request === 'none' && placesOf(state, index) === 0,
      ) &&
      state.lanes.every(({ job }) => job === 'absent') &&
      state.workers.every(({ home, at }) => home === 1 && at === 'idle'),
  };
}

function* stepsFrom(choices: Choices, state: ReshardingState): Iterable<Step<ReshardingState>> {
  yield* fanOutSteps(choices, state);
  yield* requestSteps(choices, state);
  yield* timeSteps(state);
  for (const [number, worker] of state.workers.entries()) {
    if (worker.home === 0)
      yield ordinary(`worker ${number} knows the new layout`, withWorker(state, number, { home: 1 }));
    const { at } = worker;
    if (at === 'idle') {
      yield* takeSteps(state, number, worker);
      continue;
    }
    if (isOfMove(at)) yield* moveSteps(choices, state, number, worker, at);
    else yield* headSteps(choices, state, number, worker, at);
    yield* faultSteps(choices, state, number, worker);
  }
}

function* fanOutSteps({ bounds }: Choices, state: ReshardingState): Iterable<Step<ReshardingState>> {
  for (const [index, { isKnown }] of state.deliveries.entries()) {
    if (isKnown) continue;
    const known = withDelivery(state, index, { isKnown: true });
    for (const shard of SHARDS) {
      yield ordinary(`ADD ${index} to lane ${shard}`, withEntries(known, shard, [index]));
      if (bounds.ownJobs)
        yield ordinary(`ADD ${index} with a job, ${shard}`, withOwnJob(known, index, shard, 'waiting'));
    }
  }
}

function* requestSteps({ without }: Choices, state: ReshardingState): Iterable<Step<ReshardingState>> {
  const request = state.deliveries[0]?.request;
  for (const home of SHARDS) {
    const other = otherThan(home);
    if (request === 'to come') {
      const open = withDelivery(state, 0, { hasEnded: false, request: `added ${home}` });
      yield ordinary(`ADD 0 again to lane ${home}`, withAdded(open, home, [0], true));
    } else if (request === `added ${home}`) {
      const isThere = entriesOf(state, other).length > 0;
      const joins = isThere && without !== 'what is requested again is an entry wherever its lane is';
      const added = joins ? withAdded(state, other, [0], true) : state;
      yield ordinary(`ADD 0 again to lane ${other}, if it is there`, withAcknowledged(added));
    }
  }
}

function withAcknowledged(state: ReshardingState): ReshardingState {
  const [, ...newer] = state.deliveries;
  const acknowledged = withDelivery(state, 0, {
    request: 'none',
    mayGoLast: newer.some(({ wasSent, hasEnded }) => wasSent && hasEnded),
  });
  return newer.reduce(
    (next, _, i) => (hasTurn(state, i + 1) ? withDelivery(next, i + 1, { mayGoFirst: true }) : next),
    acknowledged,
  );
}

/** Or is about to have it: nothing stands in its way. */
function hasTurn({ lanes, workers }: ReshardingState, index: number): boolean {
  const isRun = ({ at, of: [event] }: Worker) => event === index && isOfHead(at) && at !== 'later';
  return lanes.some(({ head }) => head === index) || workers.some(isRun);
}

function* timeSteps(state: ReshardingState): Iterable<Step<ReshardingState>> {
  for (const shard of SHARDS) {
    const lane = state.lanes[shard];
    if (comesBack(lane.job))
      yield ordinary(`lane ${shard} is put back`, withLane(state, shard, { ...lane, job: 'waiting' }));
    for (const [index, { job }] of state.deliveries.entries())
      if (comesBack(job[shard]))
        yield ordinary(
          `the job of ${index} is put back, ${shard}`,
          withOwnJob(state, index, shard, 'waiting'),
        );
  }
}

function* takeSteps(
  state: ReshardingState,
  number: number,
  { home }: Worker,
): Iterable<Step<ReshardingState>> {
  for (const shard of SHARDS) {
    const lane = state.lanes[shard];
    const name = `worker ${number} takes`;
    const job = `active:${number}` as const;
    const isHome = home === shard;
    if (lane.job === 'waiting') {
      const head = headOf(state, shard);
      const at = head === undefined ? 'over' : isHome ? 'has head' : 'is misplaced';
      const of = head === undefined ? [] : [head];
      const taken = withLane(state, shard, { ...lane, job });
      const change = { at, shard, of, hasLane: true, sent: lane.sent } as const;
      yield ordinary(`${name} lane ${shard}`, withWorker(taken, number, change));
    }
    for (const [index, delivery] of state.deliveries.entries()) {
      if (delivery.job[shard] !== 'waiting') continue;
      const at = isHome ? 'has job at home' : 'is misplaced';
      const taken = withOwnJob(state, index, shard, job);
      const change = { at, shard, of: [index], hasLane: false } as const;
      yield ordinary(`${name} the job of ${index}, ${shard}`, withWorker(taken, number, change));
    }
  }
}

function* faultSteps(
  { bounds: { faultsAt } }: Choices,
  state: ReshardingState,
  number: number,
  worker: Worker,
): Iterable<Step<ReshardingState>> {
  if (state.faultsLeft === 0 || (faultsAt ?? worker.at) !== worker.at) return;
  const faulty = { ...state, faultsLeft: state.faultsLeft - 1 };
  const isOwner = isOwnerOf(state, number);
  const expired = isOwner ? withJobOf(faulty, worker, 'expired') : faulty;
  yield accident(`worker ${number} crashes`, withWorker(expired, number, IDLE));
  if (isOwner) yield accident(`worker ${number} loses its lock`, expired);
}

function* headSteps(
  { bounds, without }: Choices,
  state: ReshardingState,
  number: number,
  { shard, of, sent, goesAsNewest = false }: Worker,
  at: HeadPlace,
): Iterable<Step<ReshardingState>> {
  const lane = state.lanes[shard];
  const [event = 0] = of;
  const delivery = state.deliveries[event];
  const isBehindEvent = state.deliveries.slice(0, event).some(({ isKnown }) => !isKnown);
  const step = (name: string, change: Partial<Worker>, from = state) =>
    ordinary(`worker ${number} ${name}`, withWorker(from, number, change));
  switch (at) {
    case 'has head':
      if (lane.head === event) yield step('goes on with its head', { at: 'is next' });
      else yield step('looks at the events', { at: isBehindEvent ? 'later' : 'knows events' });
      break;
    case 'knows events': {
      const [first = event] = entriesOf(state, otherThan(shard));
      const isBehind = first < event && without !== 'an older delivery in another shard is waited for';
      yield step('looks at the other lane', { at: isBehind ? 'later' : 'is next' });
      break;
    }
    case 'is next': {
      const other = otherThan(shard);
      const isElsewhere =
        (state.lanes[other].job.startsWith('active:') && headOf(state, other) === event) ||
        delivery?.job[other].startsWith('active:');
      const isRefused =
        isElsewhere && without !== 'no request is sent while a worker has the delivery in another shard';
      yield step('asks the other shard', { at: isRefused ? 'later' : 'is alone' });
      break;
    }
    case 'is alone':
      yield step('reads the log', { at: delivery?.hasEnded ? 'over' : 'loaded' });
      break;
    case 'loaded': {
      if (bounds.coalesces && (goesAsNewest || !delivery?.wasTried)) {
        const newest = entriesOf(state, shard).at(-1);
        if (sent !== undefined && event < sent && state.deliveries[sent]?.wasTried) {
          const superseded = withDelivery(state, event, { hasEnded: true, isSuperseded: true });
          yield step(`supersedes ${event}`, { at: 'over' }, superseded);
        } else if (newest !== undefined && newest !== event)
          yield step('goes to the newest', { at: 'is next', of: [newest], goesAsNewest: true });
        else yield step('looks at the events', { at: isBehindEvent ? 'later' : 'is last' });
      } else if (!isOwnerOf(state, number) || headOf(state, shard) !== event)
        yield step('has no turn', { at: 'later' });
      else if (lane.head !== event)
        yield step('begins its turn', { at: 'has turn' }, withLane(state, shard, { ...lane, head: event }));
      else if (delivery?.failures === 0 && without !== 'one that has its turn back looks again')
        yield step('has its turn back', { at: 'has turn' });
      else yield step(`sends ${event}`, { at: 'sending' }, withDelivery(state, event, { wasSent: true }));
      break;
    }
    case 'has turn': {
      const head = state.lanes[otherThan(shard)].head ?? event;
      const isBehind = head !== event && without !== 'a turn that has begun in another shard is waited for';
      // A run that may have lost its lock asks for it before its request.
      if (isBehind || !isOwnerOf(state, number)) yield step('does not go', { at: 'later' });
      else yield step(`sends ${event}`, { at: 'sending' }, withDelivery(state, event, { wasSent: true }));
      break;
    }
    case 'is last':
      yield* waitOrGoAsNewest(without, state, number, event, shard);
      break;
    case 'is newest': {
      if (!isOwnerOf(state, number) || entriesOf(state, shard).at(-1) !== event)
        yield step('has no turn', { at: 'later' });
      else {
        const begun = withLane(state, shard, { ...lane, head: event, sent: event });
        yield step(`sends ${event}`, { at: 'sending' }, withDelivery(begun, event, { wasSent: true }));
      }
      break;
    }
    case 'sending': {
      const failures = Math.min((delivery?.failures ?? 0) + 1, bounds.attempts);
      const hasEnded = delivery?.hasEnded || failures === bounds.attempts;
      yield step(
        'has a success',
        { at: 'over' },
        withDelivery(state, event, { hasEnded: true, wasTried: true }),
      );
      const failed = withDelivery(state, event, { failures, hasEnded, wasTried: true });
      yield step('has a failure', { at: hasEnded ? 'over' : 'later' }, failed);
      break;
    }
    case 'over':
      yield step('ends them', IDLE, isOwnerOf(state, number) ? withoutEntries(state, shard, of) : state);
      break;
    case 'later': {
      const wasTried = lane.head !== undefined && (state.deliveries[lane.head]?.failures ?? 0) > 0;
      const later = { ...lane, head: wasTried ? lane.head : undefined, job: 'delayed' } as const;
      const isOwner = isOwnerOf(state, number);
      const left = withWorker(isOwner ? withLane(state, shard, later) : state, number, IDLE);
      const keepsTurn = delivery?.mayGoFirst === true && hasTurn(left, event);
      yield step('puts it off', IDLE, withDelivery(left, event, { mayGoFirst: keepsTurn }));
    }
  }
}

/** Until all are in one lane nobody knows which is the newest, and what was sent last. */
function* waitOrGoAsNewest(
  without: ReshardingRule | undefined,
  state: ReshardingState,
  number: number,
  event: number,
  shard: Shard,
): Iterable<Step<ReshardingState>> {
  const other = otherThan(shard);
  const isElsewhere = entriesOf(state, other).length > 0;
  if (!isElsewhere || without === 'the newest waits while another shard has its lane') {
    yield ordinary(`worker ${number} sees no other lane`, withWorker(state, number, { at: 'is newest' }));
    return;
  }
  const joins = without !== 'the newest that waits for another shard is an entry there';
  const joined = joins ? withAdded(state, other, [event], true) : state;
  const hasNewer = entriesOf(state, other).some((index) => index > event);
  const waits = hasNewer ? withDelivery(joined, event, { hasWaited: true }) : joined;
  yield ordinary(`worker ${number} sees another lane`, withWorker(waits, number, { at: 'later' }));
}

/** By a worker that has the lane or the job. The step is a script for each, or a read for each. */
function* moveSteps(
  { without }: Choices,
  state: ReshardingState,
  number: number,
  worker: Worker,
  at: MovePlace,
): Iterable<Step<ReshardingState>> {
  const { shard, hasLane, of, to, home } = worker;
  const step = (name: string, change: Partial<Worker>, from = state) =>
    ordinary(`worker ${number} ${name}`, withWorker(from, number, change));
  const isOwner = isOwnerOf(state, number);
  const putOff = isOwner ? withJobOf(state, worker, 'delayed') : state;
  const isTaken = [state.lanes[to].job, ...of.map((index) => state.deliveries[index]?.job[to])].some(
    (job) => job?.startsWith('active:') && without !== 'nothing moves to where a worker has it',
  );
  const arePlaced = of.filter((index) => isPlacedIn(state, index, to));
  const areLockedLast = without === 'locks are asked for before places';
  switch (at) {
    case 'has job at home': {
      const left = withOwnJob(state, of[0] ?? 0, shard, 'absent');
      yield step('makes it an entry', IDLE, isOwner ? withEntries(left, shard, of) : state);
      break;
    }
    case 'is misplaced':
      yield step('reads what to move', { at: 'listed', of: hasLane ? entriesOf(state, shard) : of });
      break;
    // By then it may have learned of the new layout.
    case 'listed':
      if (
        hasLane &&
        state.lanes[home].job.startsWith('active:') &&
        without !== 'nothing moves to where a worker has it'
      )
        yield step('finds a worker there', IDLE, putOff);
      else
        yield step(
          'adds it there',
          { at: 'added', to: home },
          without === 'a delivery leaves only after it was seen in its new place'
            ? state
            : withAdded(hasLane ? withTurnMoved(without, state, shard, home, of) : state, home, of, hasLane),
        );
      break;
    case 'added':
      if (areLockedLast) yield step('sees places', { at: 'found nobody', of: arePlaced });
      else if (isTaken) yield step('finds a worker there', IDLE, putOff);
      else yield step('finds nobody there', { at: 'found nobody' });
      break;
    case 'found nobody': {
      const isBlind = without === 'a delivery leaves only after it was seen in its new place';
      if (areLockedLast && isTaken) yield step('finds a worker there', IDLE, putOff);
      else yield step('sees places', { at: 'saw places', of: isBlind || areLockedLast ? of : arePlaced });
      break;
    }
    case 'saw places':
      if (of.length === 0 && headOf(state, shard) !== undefined) yield step('moves nothing', IDLE, putOff);
      else if (!isOwner) yield step('has lost it', IDLE);
      else if (hasLane) yield step('forgets them', IDLE, withoutEntries(state, shard, of));
      else
        yield step(
          'forgets it',
          IDLE,
          of.length > 0 ? withOwnJob(state, of[0] ?? 0, shard, 'absent') : putOff,
        );
  }
}

function isOfMove(at: HeadPlace | MovePlace): at is MovePlace {
  return MOVE_PLACES.has(at);
}

function isOfHead(at: Worker['at']): boolean {
  return at !== 'idle' && !isOfMove(at);
}

function otherThan(shard: Shard): Shard {
  return shard === 0 ? 1 : 0;
}

function comesBack(job: Job): boolean {
  return job === 'delayed' || job === 'expired';
}

function jobOf({ deliveries, lanes }: ReshardingState, { hasLane, shard, of: [event = 0] }: Worker): Job {
  return hasLane ? lanes[shard].job : (deliveries[event]?.job[shard] ?? 'absent');
}

function isOwnerOf(state: ReshardingState, number: number): boolean {
  const worker = state.workers[number];
  return worker !== undefined && jobOf(state, worker) === `active:${number}`;
}

function isPlacedIn({ deliveries }: ReshardingState, index: number, shard: Shard): boolean {
  const delivery = deliveries[index];
  return delivery !== undefined && (delivery.isEntry[shard] || delivery.job[shard] !== 'absent');
}

function placesOf(state: ReshardingState, index: number): number {
  return SHARDS.filter((shard) => isPlacedIn(state, index, shard)).length;
}

function entriesOf({ deliveries }: ReshardingState, shard: Shard): readonly number[] {
  return [...deliveries.keys()].filter((index) => deliveries[index]?.isEntry[shard]);
}

function headOf(state: ReshardingState, shard: Shard): number | undefined {
  const entries = entriesOf(state, shard);
  const { head } = state.lanes[shard];
  return head !== undefined && entries.includes(head) ? head : entries[0];
}

/** As the scripts that add: what is there stays as it is. */
function withAdded(
  state: ReshardingState,
  shard: Shard,
  indexes: readonly number[],
  asEntries: boolean,
): ReshardingState {
  const missing = indexes.filter((index) => !isPlacedIn(state, index, shard));
  if (asEntries) return withEntries(state, shard, missing);
  return missing.reduce((next, index) => withOwnJob(next, index, shard, 'waiting'), state);
}

/** The lane goes on as it did where its entries come from, unless it has its own turn. */
function withTurnMoved(
  without: ReshardingRule | undefined,
  state: ReshardingState,
  from: Shard,
  to: Shard,
  of: readonly number[],
): ReshardingState {
  const { head, sent = -1 } = state.lanes[from];
  const lane = state.lanes[to];
  const last = without === 'what was sent last moves with the entries' ? -1 : sent;
  const newest = Math.max(last, lane.sent ?? -1);
  const moved = head !== undefined && of.includes(head) ? head : undefined;
  return withLane(state, to, {
    ...lane,
    head: lane.head ?? moved,
    sent: newest < 0 ? undefined : newest,
  });
}

function withEntries(state: ReshardingState, shard: Shard, indexes: readonly number[]): ReshardingState {
  if (indexes.length === 0) return state;
  const added = indexes.reduce((next, index) => withEntry(next, index, shard, true), state);
  const lane = state.lanes[shard];
  return lane.job === 'absent' ? withLane(added, shard, { ...lane, job: 'waiting' }) : added;
}

function withoutEntries(state: ReshardingState, shard: Shard, indexes: readonly number[]): ReshardingState {
  const left = indexes.reduce((next, index) => withEntry(next, index, shard, false), state);
  if (entriesOf(left, shard).length === 0) return withLane(left, shard, { job: 'absent' });
  return withLane(left, shard, { job: 'waiting', sent: state.lanes[shard].sent });
}

function withEntry(state: ReshardingState, index: number, shard: Shard, isEntry: boolean): ReshardingState {
  const before = state.deliveries[index]?.isEntry ?? [false, false];
  return withDelivery(state, index, { isEntry: inShard(before, shard, isEntry) });
}

function withOwnJob(state: ReshardingState, index: number, shard: Shard, job: Job): ReshardingState {
  const before = state.deliveries[index]?.job ?? ['absent', 'absent'];
  return withDelivery(state, index, { job: inShard(before, shard, job) });
}

function withJobOf(state: ReshardingState, { hasLane, shard, of: [event = 0] }: Worker, job: Job) {
  return hasLane
    ? withLane(state, shard, { ...state.lanes[shard], job })
    : withOwnJob(state, event, shard, job);
}

function withLane(state: ReshardingState, shard: Shard, lane: ShardLane): ReshardingState {
  return { ...state, lanes: inShard(state.lanes, shard, lane) };
}

function inShard<Value>([first, second]: InShards<Value>, shard: Shard, value: Value): InShards<Value> {
  return shard === 0 ? [value, second] : [first, value];
}

function withDelivery(state: ReshardingState, index: number, change: Partial<Delivery>): ReshardingState {
  const deliveries = state.deliveries.map((old, at) => (at === index ? { ...old, ...change } : old));
  return { ...state, deliveries };
}

function withWorker(state: ReshardingState, number: number, change: Partial<Worker>): ReshardingState {
  return {
    ...state,
    workers: state.workers.map((old, at) => (at === number ? { ...old, ...change } : old)),
  };
}

/** Which of the workers it is makes no difference. */
function keyOf({ deliveries, lanes, workers, faultsLeft }: ReshardingState): string {
  const kindOf = (job: Job) => (job.startsWith('active:') ? 'active' : job);
  const keys = workers.map(({ home, at, shard, hasLane, of, to, sent, goesAsNewest }, number) => {
    const locks = [...lanes.map(({ job }) => job), ...deliveries.flatMap(({ job }) => job)];
    const owned = locks.map((job) => (job === `active:${number}` ? 1 : 0)).join('');
    return [home, at, shard, hasLane, of, to, sent, goesAsNewest, owned].join();
  });
  return [
    ...deliveries.map(({ job, ...delivery }) => [job.map(kindOf), ...Object.values(delivery)].join()),
    ...lanes.map(({ job, head, sent }) => `${kindOf(job)} ${head} ${sent}`),
    ...keys.toSorted(),
    faultsLeft,
  ].join(';');
}

const isSending = ({ workers }: ReshardingState, number: number) => workers[number]?.at === 'sending';

const forbidden: Watches<ReshardingState> = {
  'a known delivery that is nowhere': ({ after }) =>
    after.deliveries.some(
      ({ isKnown, hasEnded }, index) => isKnown && !hasEnded && placesOf(after, index) === 0,
    ),
  'a lane with entries and no job': ({ after }) =>
    SHARDS.some((shard) => after.lanes[shard].job === 'absent' && entriesOf(after, shard).length > 0),
  'a request that starts beside one whose run has the lock': ({ before, after }) =>
    after.workers.some((_worker, number) => isSending(after, number) && !isSending(before, number)) &&
    before.workers.some((_worker, number) => isSending(before, number) && isOwnerOf(before, number)),
};

const forbiddenInOrder: Watches<ReshardingState> = {
  'a first request before that of an older one that has not ended': ({ before, after }) =>
    after.workers.some(
      ({ of: [event = 0] }, number) =>
        isSending(after, number) &&
        !isSending(before, number) &&
        !before.deliveries[event]?.wasSent &&
        !before.deliveries[event]?.mayGoFirst &&
        before.deliveries.slice(0, event).some(({ hasEnded, request }) => !hasEnded && request === 'none'),
    ),
};

const forbiddenOfNewest: Watches<ReshardingState> = {
  'a first request after that of a newer one': ({ before, after }) =>
    after.workers.some(({ of: [event = 0] }, number) => {
      const delivery = before.deliveries[event];
      const isFirst = isSending(after, number) && !isSending(before, number) && !delivery?.wasSent;
      // What is requested again is sent, unless a newer one had not ended by then, or it has waited for one.
      const isRequested = delivery?.request !== 'none' || delivery.mayGoLast;
      const mayGoLast = isRequested && delivery?.hasWaited === false;
      return isFirst && !mayGoLast && before.deliveries.slice(event + 1).some(({ wasSent }) => wasSent);
    }),
  'one that was superseded by none that was tried': ({ after: { deliveries } }) =>
    deliveries.some(
      ({ isSuperseded }, index) =>
        isSuperseded && !deliveries.slice(index + 1).some(({ wasTried }) => wasTried),
    ),
};

const possible: Watches<ReshardingState> = {
  'two that move it towards each other': ({ after: { workers } }) =>
    SHARDS.every((shard) => workers.some((worker) => worker.at === 'added' && worker.shard === shard)),
  'a delivery in two shards': ({ after }) => after.deliveries.some((_, index) => placesOf(after, index) > 1),
  'one that waits behind one in another shard': ({ before, after }) =>
    after.workers.some(({ at }, number) => at === 'later' && before.workers[number]?.at === 'knows events'),
  'one that is superseded': ({ after }) => after.deliveries.some(({ isSuperseded }) => isSuperseded),
  'all ended': ({ after }) => after.deliveries.every(({ hasEnded }) => hasEnded),
};
