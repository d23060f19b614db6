import type { Protocol, Step, Taken, Watches } from './explore';

/** What the lines of a webhook rely on: the test takes each away and sees what breaks. */
export type LineRule =
  | 'a wake-up leaves a line alone that a worker has'
  | 'a closed line is held before its job is delayed'
  | 'one begins only if it still is the first, or the newest'
  | 'the last one that was sent is known as long as others are there'
  | 'what was sent in place of others counts whatever the settings are by then'
  | 'what may have been sent in place of others is tried before its line is left'
  | 'an older event on its queue is waited for'
  | 'one that began as the newest goes behind older ones unless it may have been sent';

export interface LineBounds {
  /** Whether only the newest of a line is sent. */
  readonly coalesces: boolean;
  /** How often a worker dies, a delivery is cancelled, or the webhook's setting changes. */
  readonly faults: number;
  /** Whether the webhook may get another order: then each delivery gets a job of its own. */
  readonly leaves?: boolean;
}

interface Delivery {
  readonly line: number;
  readonly isPublished: boolean;
  readonly isEntry: boolean;
  readonly end: 'none' | 'delivered' | 'superseded' | 'cancelled';
  readonly wasSent: boolean;
  /** Whether that was in place of older ones. */
  readonly wentInPlace: boolean;
  readonly hasOwnJob: boolean;
}

interface Line {
  readonly job: 'absent' | 'waiting' | 'active' | 'crashed' | 'delayed';
  readonly closed?: number | 'window' | undefined;
  readonly head?: number | undefined;
  /** The last one that was sent in place of older ones. */
  readonly sent?: number | undefined;
  readonly isWindowOver: boolean;
}

interface Run {
  readonly at: 'idle' | 'taken' | 'chosen' | 'in window' | 'refused' | 'admitted' | 'sending' | 'ending';
  readonly line: number;
  readonly of: number;
  /** Whether it goes in place of older ones. */
  readonly goesAsNewest?: boolean | undefined;
  /** Whether its turn had begun before: then it keeps that. */
  readonly hadBegun?: boolean | undefined;
}

interface LinesState {
  readonly coalesces: boolean;
  readonly hasLines: boolean;
  readonly deliveries: readonly Delivery[];
  readonly lines: readonly Line[];
  readonly runs: readonly Run[];
  /** The deliveries that stand for closed lines, among the held ones of the webhook. */
  readonly held: readonly number[];
  readonly isWakeUpDue: boolean;
  readonly faultsLeft: number;
}

function ordinary(name: string, next: LinesState): Step<LinesState> {
  return { name, isOrdinary: true, next };
}

function accident(name: string, next: LinesState): Step<LinesState> {
  return { name, isOrdinary: false, next };
}

const IDLE: Run = { at: 'idle', line: 0, of: 0 };
/** Of the first line, the second delivery was accepted after the first. */
const LINE_OF = [0, 0, 1];
/** How many attempts the webhook may have at once. */
const PERMITS = 1;

/**
 * Two lines of one webhook, each the lane of a group. They run beside each other as far as the webhook's permits allow. What may not
 * run is closed: its head is held, as a delivery with a job is, and a wake-up lets one go.
 *
 *     TAKE (opens it) ─▶ admitted ─▶ END
 *              │ CLOSE, then DELAY  ─▶ held ─▶ a wake-up
 *              │ WAIT, then DELAY   ─▶ the window is over
 */
export function linesOfOne({
  bounds,
  without,
}: {
  readonly bounds: LineBounds;
  readonly without?: LineRule;
}): Protocol<LinesState> {
  const world = { bounds, without };
  return {
    initial: {
      coalesces: bounds.coalesces,
      hasLines: true,
      deliveries: LINE_OF.map((line) => ({
        line,
        isPublished: false,
        isEntry: false,
        end: 'none',
        wasSent: false,
        wentInPlace: false,
        hasOwnJob: false,
      })),
      lines: [0, 1].map(() => ({ job: 'absent', isWindowOver: false })),
      runs: [IDLE, IDLE],
      held: [],
      isWakeUpDue: false,
      faultsLeft: bounds.faults,
    },
    stepsFrom: (state) => stepsFrom(world, state),
    keyOf: (state) => JSON.stringify(state),
    forbidden,
    possible,
    isAtRest: ({ deliveries, lines, runs, held }) =>
      deliveries.every(({ end, isEntry, hasOwnJob }) => end !== 'none' && !isEntry && !hasOwnJob) &&
      lines.every(({ job }) => job === 'absent') &&
      held.length === 0 &&
      runs.every(({ at }) => at === 'idle'),
  };
}

interface World {
  readonly bounds: LineBounds;
  readonly without: LineRule | undefined;
}

function* stepsFrom(world: World, state: LinesState): Iterable<Step<LinesState>> {
  for (const [index, delivery] of state.deliveries.entries()) yield* publishSteps(state, index, delivery);
  for (const [number, line] of state.lines.entries()) yield* lineSteps(world, state, number, line);
  for (const [number, run] of state.runs.entries()) yield* runSteps(world, state, number, run);
  if (state.isWakeUpDue) yield ordinary('a wake-up', wakenUp(world, state));
  if (state.coalesces && state.faultsLeft > 0) {
    const faultsLeft = state.faultsLeft - 1;
    const lines = state.lines.map((line) => ({ ...line, isWindowOver: true }));
    yield accident('all are to be sent', { ...state, lines, coalesces: false, faultsLeft });
    if (world.bounds.leaves)
      yield accident('it has no groups', { ...state, lines, coalesces: false, hasLines: false, faultsLeft });
  }
}

function* publishSteps(
  state: LinesState,
  index: number,
  { isPublished, isEntry, end, line, hasOwnJob }: Delivery,
): Iterable<Step<LinesState>> {
  if (hasOwnJob) {
    const change = end === 'none' ? ({ end: 'delivered', wasSent: true } as const) : {};
    yield ordinary(`its own job runs, ${index}`, withDelivery(state, index, { ...change, hasOwnJob: false }));
  }
  if (!isPublished && !state.hasLines) {
    const added = { isPublished: true, hasOwnJob: true };
    yield ordinary(`ADD with a job, ${index}`, withDelivery(state, index, added));
  } else if (!isPublished) {
    const added = withDelivery(state, index, { isPublished: true, isEntry: true });
    const { job } = lineAt(added, line);
    yield ordinary(`ADD, ${index}`, job === 'absent' ? withLine(added, line, { job: 'waiting' }) : added);
  }
  if (isEntry && end === 'none' && state.faultsLeft > 0) {
    const faultsLeft = state.faultsLeft - 1;
    yield accident(`it is cancelled, ${index}`, {
      ...withDelivery(state, index, { end: 'cancelled' }),
      faultsLeft,
    });
  }
}

function* lineSteps(world: World, state: LinesState, number: number, line: Line): Iterable<Step<LinesState>> {
  if (line.job === 'crashed')
    yield ordinary(`the stalled check puts ${number} back`, withLine(state, number, { job: 'waiting' }));
  if (line.closed === 'window' && line.job === 'delayed')
    yield ordinary(
      `the window of ${number} is over`,
      withLine(state, number, { job: 'waiting', isWindowOver: true }),
    );
  const idle = state.runs.findIndex(({ at }) => at === 'idle');
  if (line.job === 'waiting' && idle >= 0) yield* take(world, state, number, idle);
}

function* take(world: World, state: LinesState, number: number, idle: number): Iterable<Step<LinesState>> {
  const { head } = lineAt(state, number);
  const of = head !== undefined && state.deliveries[head]?.isEntry ? head : firstOf(state, number);
  const taken = withLine(opened(state, number), number, { job: 'active' });
  if (of === undefined) return yield ordinary(`END of the empty line ${number}`, ended(world, taken, number));
  yield ordinary(
    `TAKE, ${of}`,
    withRun(taken, idle, { at: 'taken', line: number, of, hadBegun: of === head }),
  );
}

function* runSteps(world: World, state: LinesState, number: number, run: Run): Iterable<Step<LinesState>> {
  const { at, line, of } = run;
  if (at === 'idle') return;
  const step = (name: string, next: Run['at'], from = state) =>
    ordinary(`run ${number} ${name}, ${of}`, withRun(from, number, { ...run, at: next }));
  switch (at) {
    case 'taken':
      yield* choose(world, state, number, run);
      break;
    case 'chosen':
      if (state.runs.filter((other) => other.at === 'admitted' || other.at === 'sending').length < PERMITS) {
        const marked = run.goesAsNewest ? withLine(state, line, { sent: of }) : state;
        yield step('is admitted', 'admitted', marked);
      } else if (world.without === 'a closed line is held before its job is delayed') {
        yield step('is delayed', 'refused', withLine(state, line, { job: 'delayed' }));
      } else yield step('CLOSEs its line', 'refused', closed(state, line, of));
      break;
    case 'in window':
    case 'refused': {
      const isLate = world.without === 'a closed line is held before its job is delayed' && at === 'refused';
      const delayed = isLate ? closed(state, line, of) : withLine(state, line, { job: 'delayed' });
      const left = run.hadBegun ? delayed : withLine(delayed, line, { head: undefined });
      yield ordinary(`run ${number} DELAYs ${line}`, withRun(left, number, IDLE));
      break;
    }
    case 'admitted':
      yield step(
        'starts its request',
        'sending',
        withDelivery(state, of, { wasSent: true, wentInPlace: run.goesAsNewest === true }),
      );
      break;
    case 'sending': {
      const isOpen = state.deliveries[of]?.end === 'none';
      const recorded = isOpen ? withDelivery(state, of, { end: 'delivered' }) : state;
      yield ordinary(
        `run ${number} records and ENDs ${of}`,
        askedToWake(withRun(ended(world, recorded, line, of), number, IDLE)),
      );
      break;
    }
    case 'ending':
      yield ordinary(
        `run ${number} ENDs ${of}`,
        askedToWake(withRun(ended(world, state, line, of), number, IDLE)),
      );
      break;
  }
  if (state.faultsLeft > 0 && lineAt(state, line).job === 'active') {
    const crashed = withRun(withLine(state, line, { job: 'crashed' }), number, IDLE);
    yield accident(`run ${number} crashes`, { ...crashed, faultsLeft: state.faultsLeft - 1 });
  }
}

/** Which of its line a run sends, if any. */
function* choose(world: World, state: LinesState, number: number, run: Run): Iterable<Step<LinesState>> {
  const { line, of } = run;
  const { sent, isWindowOver } = lineAt(state, line);
  const delivery = state.deliveries[of];
  const go = (name: string, at: Run['at'], from = state, to = of, goesAsNewest?: boolean) =>
    ordinary(
      `run ${number} ${name}, ${to}`,
      withRun(from, number, { line, of: to, at, goesAsNewest, hadBegun: run.hadBegun && to === of }),
    );
  if (delivery?.end !== 'none') return yield go('finds its end', 'ending');
  const counts =
    state.coalesces ||
    world.without !== 'what was sent in place of others counts whatever the settings are by then';
  if (counts && sent !== undefined && of < sent && state.deliveries[sent]?.wasSent) {
    return yield go('ends as superseded', 'ending', withDelivery(state, of, { end: 'superseded' }));
  }
  const mayHaveGone =
    sent === of &&
    world.without !== 'what may have been sent in place of others is tried before its line is left';
  if (!state.hasLines && !mayHaveGone) return yield leave(state, number, line);
  const isOlderComing =
    state.hasLines &&
    state.deliveries.some((other, index) => other.line === line && index < of && !other.isPublished);
  const waits = world.without !== 'an older event on its queue is waited for';
  if (isOlderComing && waits) {
    const back = withLine(state, line, { job: 'waiting', head: undefined });
    return yield ordinary(`run ${number} waits for an older event`, withRun(back, number, IDLE));
  }
  const asks = world.without !== 'one begins only if it still is the first, or the newest';
  const { head } = lineAt(state, line);
  if (!state.coalesces || (sent === of && !run.goesAsNewest)) {
    const overtakes =
      run.hadBegun &&
      sent !== of &&
      firstOf(state, line) !== of &&
      world.without !== 'one that began as the newest goes behind older ones unless it may have been sent';
    if (!overtakes && (firstOf(state, line) === of || head === of || !asks))
      return yield go('BEGINs', 'chosen', withLine(state, line, { head: of }), of, sent === of);
    return yield ordinary(
      `run ${number} is not the first any more`,
      withRun(withLine(state, line, { job: 'waiting', head: overtakes ? undefined : head }), number, IDLE),
    );
  }
  if (!isWindowOver) {
    return yield go('WAITs for newer ones', 'in window', withLine(state, line, { closed: 'window' }));
  }
  const newest = newestOf(state, line);
  if (newest !== undefined && newest !== of && state.deliveries[newest]?.end !== 'none')
    return yield go('finds the end of the newest', 'ending', state, newest);
  // It was read before: a newer one may have come since.
  const chosen = withLine(state, line, { head: of });
  if (newest === of || !asks) yield go('BEGINs as the newest', 'chosen', chosen, of, true);
  if (newest !== undefined && newest !== of) yield go('reads the newest', 'taken', state, newest, true);
}

/** Each of its entries gets a job of its own. */
function leave(state: LinesState, number: number, line: number): Step<LinesState> {
  const left = entriesOf(state, line).reduce(
    (next, index) => withDelivery(next, index, { isEntry: false, hasOwnJob: true }),
    state,
  );
  const gone = withLine(left, line, { job: 'absent', head: undefined, sent: undefined, isWindowOver: false });
  return ordinary(`run ${number} leaves the line ${line}`, askedToWake(withRun(gone, number, IDLE)));
}

function wakenUp(world: World, state: LinesState): LinesState {
  const [first] = state.held;
  const after = { ...state, isWakeUpDue: false };
  if (first === undefined) return after;
  const number = state.deliveries[first]?.line ?? 0;
  const { job } = lineAt(state, number);
  const leaves = world.without !== 'a wake-up leaves a line alone that a worker has';
  if (job === 'active' && leaves) return state;
  const open = opened(after, number);
  const left = { ...open, held: open.held.filter((each) => each !== first) };
  const isWakeUpDue = left.held.length > 0;
  return { ...(job === 'delayed' ? withLine(left, number, { job: 'waiting' }) : left), isWakeUpDue };
}

function closed(state: LinesState, number: number, of: number): LinesState {
  if (lineAt(state, number).closed !== undefined) return state;
  const held = [...state.held, of].toSorted((a, b) => a - b);
  return { ...withLine(state, number, { closed: of }), held, isWakeUpDue: true };
}

function opened(state: LinesState, number: number): LinesState {
  const { closed: of } = lineAt(state, number);
  if (of === undefined) return state;
  const held = state.held.filter((each) => each !== of);
  return { ...withLine(state, number, { closed: undefined }), held };
}

/** An entry leaves. The script sees whether it was the last one. */
function ended(world: World, state: LinesState, number: number, of?: number): LinesState {
  const left = of === undefined ? state : withDelivery(state, of, { isEntry: false });
  const isEmpty = firstOf(left, number) === undefined;
  if (isEmpty)
    return withLine(left, number, { job: 'absent', head: undefined, sent: undefined, isWindowOver: false });
  const forgets = world.without === 'the last one that was sent is known as long as others are there';
  return withLine(left, number, { job: 'waiting', head: undefined, ...(forgets && { sent: undefined }) });
}

/** Its end lets others go. */
function askedToWake(state: LinesState): LinesState {
  return state.held.length > 0 ? { ...state, isWakeUpDue: true } : state;
}

function entriesOf({ deliveries }: LinesState, number: number): readonly number[] {
  return deliveries.flatMap(({ line, isEntry }, index) => (line === number && isEntry ? [index] : []));
}

function firstOf(state: LinesState, number: number): number | undefined {
  return entriesOf(state, number)[0];
}

function newestOf(state: LinesState, number: number): number | undefined {
  return entriesOf(state, number).at(-1);
}

function lineAt({ lines }: LinesState, number: number): Line {
  return lines[number] ?? { job: 'absent', isWindowOver: false };
}

function withLine(state: LinesState, number: number, change: Partial<Line>): LinesState {
  const lines = state.lines.map((old, at) => (at === number ? { ...old, ...change } : old));
  return { ...state, lines };
}

function withDelivery(state: LinesState, index: number, change: Partial<Delivery>): LinesState {
  const deliveries = state.deliveries.map((old, at) => (at === index ? { ...old, ...change } : old));
  return { ...state, deliveries };
}

function withRun(state: LinesState, number: number, run: Run): LinesState {
  return { ...state, runs: state.runs.map((old, at) => (at === number ? run : old)) };
}

const starts = ({ before, after }: Taken<LinesState>): readonly number[] =>
  after.runs.flatMap(({ at, of }, n) => (at === 'sending' && before.runs[n]?.at !== 'sending' ? [of] : []));

const forbidden: Watches<LinesState> = {
  'a line with entries and no job': ({ after }) =>
    after.lines.some(({ job }, number) => job === 'absent' && firstOf(after, number) !== undefined),
  'a request after that of a newer one of its line': (taken) =>
    taken.before.hasLines &&
    starts(taken).some((of) =>
      taken.before.deliveries.some(
        ({ line, wasSent }, index) =>
          index > of && line === LINE_OF[of] && wasSent && !taken.before.deliveries[of]?.wasSent,
      ),
    ),
  'a first request after that of a newer one that went in its place': ({ before, after }) =>
    after.deliveries.some(
      ({ wasSent, line }, index) =>
        wasSent &&
        before.deliveries[index]?.wasSent === false &&
        before.deliveries.some((other, at) => at > index && other.line === line && other.wentInPlace),
    ),
  'one that was superseded before a newer one was about to be sent': ({ before, after }) =>
    after.deliveries.some(
      ({ end, line }, index) =>
        end === 'superseded' &&
        before.deliveries[index]?.end === 'none' &&
        (lineAt(before, line).sent ?? -1) <= index,
    ),
  'a request beside a newer one that waits': (taken) =>
    starts(taken).some((of) =>
      taken.before.lines.some(({ head, sent }) => head === of && sent !== undefined && sent > of),
    ),
  'more requests than permits': ({ after }) =>
    after.runs.filter(({ at }) => at === 'sending').length > PERMITS,
};

const possible: Watches<LinesState> = {
  'two lines at once': ({ after }) =>
    new Set(after.runs.filter(({ at }) => at !== 'idle').map(({ line }) => line)).size > 1,
  'a line that is held for another one': ({ after }) => after.held.length > 0,
  'one that is superseded': ({ after }) => after.deliveries.some(({ end }) => end === 'superseded'),
  'all delivered': ({ after }) => after.deliveries.every(({ end }) => end === 'delivered'),
};
