import { setImmediate } from 'node:timers/promises';
import type { AccountId } from '../domain/account';
import { type DeliveryState, NOTHING_HAPPENED } from '../domain/delivery-log';
import { type Endpoint, lineToJoin } from '../domain/endpoint';
import { dataOf, type EventHead, type EventId, statusOfEvent } from '../domain/event';
import {
  hasEnded,
  type Replay,
  type ReplayEndStatus,
  type ReplayOrder,
  type ReplayProgress,
} from '../domain/replay';
import type { Emit } from '../domain/signal';
import type { AdmissionStore, OrderPlace } from '../endpoints/admission/redis-admission-store';
import { matchesType } from '../endpoints/filters/event-filters';
import { type PayloadFilter, readStoredFilter } from '../endpoints/filters/payload-filter';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { EventMark } from '../events/redis-event-index';
import type { DeliveryKey } from '../history/history-source';
import type { Recall } from '../history/mover/recall';
import type { WholeHistory } from '../history/whole-history';
import type { Clock } from '../platform/clock';
import type { Atomic } from '../platform/redis-atomic';
import type { Mark } from '../platform/redis-timeline';
import { announceReplayEnd } from './manage-replays';
import { type ResendContext, type ResendInput, resendAll } from './redeliver';
import type { ReplayStore } from './redis-replay-store';

export type StepReplayContext = ChooseEventsContext &
  ResendContext & {
    readonly replayStore: Pick<ReplayStore, 'find' | 'create' | 'save'>;
    readonly endpointStore: Pick<EndpointStore, 'find'>;
    readonly admissionStore: Pick<AdmissionStore, 'joinOrder'>;
    /** It runs scripts on the Redis of these stores. */
    readonly atomic: Atomic;
    /** Absent: there is no history that deliveries move to. */
    readonly recall?: Recall | undefined;
    readonly clock: Clock;
    readonly emit: Emit;
  };

/** What happens to the replay's job next. */
export type StepResult = { readonly kind: 'done' } | { readonly kind: 'again'; readonly delayMs: number };

const DONE: StepResult = { kind: 'done' };
const AT_ONCE: StepResult = { kind: 'again', delayMs: 0 };

// Events read in one step. Counting only reads. A step of sending reads more than it sends: otherwise a slow
// replay that chooses little would take endless steps.
const COUNTED_AT_ONCE = 500;
const LOOKED_AT = 100;
// A delivery that has just ended keeps its job for milliseconds, or until a dead worker's jobs are taken
// over.
const ENDING_DELAY_MS = 1_000;
// A replay sends twice a second, at most as many as it scans: in small doses, so that it can be cancelled
// soon.
const STEPS_A_SECOND = 2;

/**
 * Take one step of a replay: count some of the events in its range or, once all are counted, send some. The
 * progress is saved after each step. A step that broke off is repeated and sends nothing twice: each
 * delivery's log has the replay's request.
 *
 * @throws AppError `history_unavailable` when events of its range have moved, and can't be read.
 */
export async function stepReplay(context: StepReplayContext, order: ReplayOrder): Promise<StepResult> {
  const { endpointStore, replayStore } = context;
  const endpoint = await endpointStore.find(order.accountId, order.endpointId);
  // A replay that is not recorded stays so when its webhook is gone: its account may have been erased.
  const replay = endpoint ? await findOrCreate(context, order) : await replayStore.find(order.id);
  if (!replay || hasEnded(replay)) return DONE;
  if (!endpoint) return await end(context, replay, 'failed', 'The webhook was deleted.');
  return await (replay.status === 'counting' ? count : send)(context, replay, endpoint);
}

// The job is queued before the record is written: the process that queued it may have died in between.
async function findOrCreate(
  { replayStore }: StepReplayContext,
  order: ReplayOrder,
): Promise<Replay | undefined> {
  const replay = await replayStore.find(order.id);
  if (replay) return replay;
  await replayStore.create(order);
  return await replayStore.find(order.id);
}

async function count(context: StepReplayContext, replay: Replay, endpoint: Endpoint): Promise<StepResult> {
  const { judged, nextCursor } = await chooseEvents(context, replay, endpoint, COUNTED_AT_ONCE);
  const found = replay.found + chosenOf(judged).length;
  const erased = replay.erased + judged.filter(({ isErased }) => isErased).length;
  if (nextCursor !== undefined) {
    const change = { status: 'counting', found, erased, cursor: nextCursor } as const;
    return await goOn(context, replay, change, AT_ONCE);
  }
  if (replay.isDryRun) return await end(context, { ...replay, found, erased }, 'done');
  return await goOn(context, replay, { status: 'running', found, erased, cursor: undefined }, AT_ONCE);
}

async function send(context: StepReplayContext, replay: Replay, endpoint: Endpoint): Promise<StepResult> {
  const { clock } = context;
  const startedAt = clock();
  const most = Math.min(Math.ceil(replay.rate / STEPS_A_SECOND), LOOKED_AT);
  const { judged, nextCursor } = await chooseEvents(context, replay, endpoint, LOOKED_AT, most);
  const chosen = chosenOf(judged);
  const members = chosen.slice(0, most);
  const dose = members.map(({ member }) => member);
  const inputs = dose.map((member) => toResend(replay, member));
  // First: workers run the jobs of a dose at once, and would begin with any of them. A place that is left without a job,
  // should this process die in between, is removed when the lines are looked at.
  const places = members.flatMap((each) => placeOf(endpoint, each) ?? []);
  await context.atomic([context.admissionStore.joinOrder(replay.endpointId, places)]);
  const resendDose = () => resendAll(context, inputs);
  const resent = await (context.recall
    ? context.recall.whileRecalled(replay.accountId, inputs.map(keyOf), resendDose)
    : resendDose());
  const ending = resent.indexOf('ending');
  const results = ending < 0 ? resent : resent.slice(0, ending);
  const enqueued = replay.enqueued + results.filter((result) => result === 'resent').length;

  // Go on soon: deliveries that are sent by then are counted then.
  if (ending >= 0) {
    const cursor = ending === 0 ? replay.cursor : dose[ending - 1];
    return await goOn(context, replay, { enqueued, cursor }, { kind: 'again', delayMs: ENDING_DELAY_MS });
  }

  const isDoseAll = dose.length === chosen.length;
  if (isDoseAll && nextCursor === undefined) return await end(context, { ...replay, enqueued }, 'done');
  const cursor = isDoseAll ? nextCursor : dose.at(-1);
  const delayMs = Math.max(Math.ceil((dose.length / replay.rate) * 1_000) - (clock() - startedAt), 0);
  return await goOn(context, replay, { enqueued, cursor }, { kind: 'again', delayMs });
}

// Stop, if it was cancelled meanwhile.
async function goOn(
  { replayStore, emit }: StepReplayContext,
  replay: Replay,
  change: Change,
  result: StepResult,
): Promise<StepResult> {
  if (!(await replayStore.save(replay.id, progressOf(replay, change)))) return DONE;
  const { id: replayId, accountId, endpointId } = replay;
  emit({ name: 'replay.progressed', replayId, accountId, endpointId });
  return result;
}

async function end(
  { replayStore, clock, emit }: StepReplayContext,
  replay: Replay,
  status: ReplayEndStatus,
  error?: string,
): Promise<StepResult> {
  const change = {
    status,
    cursor: undefined,
    finishedAt: clock(),
    ...(error === undefined ? {} : { error }),
  };
  const progress = progressOf(replay, change);
  if (await replayStore.save(replay.id, progress)) announceReplayEnd(emit, { ...replay, ...progress });
  return DONE;
}

type Change = Partial<Omit<ReplayProgress, 'cursor'>> & { readonly cursor: Mark | undefined };

function progressOf(
  { status, found, enqueued, erased }: Replay,
  { cursor, ...change }: Change,
): ReplayProgress {
  return { status, found, enqueued, erased, ...change, ...(cursor === undefined ? {} : { cursor }) };
}

function chosenOf<Each extends Judged>(judged: readonly Each[]): readonly Each[] {
  return judged.filter(({ isChosen }) => isChosen);
}

/** Where it waits for those before it. Absent: it waits for none, or this replay has requested it already. */
function placeOf(endpoint: Endpoint, { member, group, isRequested }: Judged): OrderPlace | undefined {
  const eventId = member.id as EventId;
  const line = isRequested ? undefined : lineToJoin(endpoint, { id: eventId, group });
  return line === undefined ? undefined : { eventId, acceptedAt: member.at, line };
}

function keyOf({ eventId, endpointId, acceptedAt: createdAt }: ResendInput): DeliveryKey {
  return { eventId, endpointId, createdAt };
}

function toResend({ id, accountId, endpointId }: Replay, { id: eventId, at }: Mark): ResendInput {
  return {
    accountId,
    endpointId,
    eventId: eventId as EventId,
    acceptedAt: at,
    trigger: 'replay',
    requestId: id,
  };
}

interface ChooseEventsContext {
  readonly history: Pick<
    WholeHistory,
    'walkEvents' | 'walkDeliveries' | 'readHeads' | 'readStates' | 'findEvent'
  >;
}

/** An event of the range, and whether to send it. */
interface Judged {
  readonly member: Mark;
  readonly isChosen: boolean;
  /** Whether it would be chosen, but its payload is erased. */
  readonly isErased: boolean;
  /** Whether this replay has requested it already. */
  readonly isRequested: boolean;
  readonly group?: string | undefined;
}

interface Choice {
  readonly judged: readonly Judged[];
  /** Absent: these were the last events of the range. */
  readonly nextCursor: Mark | undefined;
}

/**
 * Go through the events of a replay's range, oldest first, and judge each.
 *
 * @param enough beyond this many chosen events the filter may be skipped: they stay chosen.
 */
async function chooseEvents(
  context: ChooseEventsContext,
  replay: Replay,
  endpoint: Endpoint,
  limit: number,
  enough = limit,
): Promise<Choice> {
  const { marks, nextCursor } = await readMarks(context, replay, limit);
  const judged = await judge(context, replay, endpoint, marks);
  // A failed delivery passed the filter when it was published, and its type is not checked again either.
  if (endpoint.filter === undefined || replay.mode === 'failed') return { judged, nextCursor };
  const filter = readStoredFilter(endpoint.filter);
  return { judged: await filtered(context, filter, endpoint, judged, enough), nextCursor };
}

// Failed deliveries are in the endpoint's own list: far fewer than all of the account's events.
async function readMarks(
  { history }: ChooseEventsContext,
  { accountId, endpointId, mode, since, until, cursor }: Replay,
  limit: number,
) {
  // Both ends belong to it.
  const query = { accountId, since, until: until + 1 };
  const span = { limit, after: cursor && { eventId: cursor.id as EventId, createdAt: cursor.at } };
  const { entries, nextCursor } =
    mode === 'failed'
      ? await history.walkDeliveries({ ...query, endpointId, isUndelivered: true }, span)
      : await history.walkEvents(query, span);
  const marks = entries.flatMap(({ row }) => row ?? []);
  return { marks, nextCursor: nextCursor && memberOf(nextCursor) };
}

function memberOf({ eventId: id, createdAt: at }: EventMark): Mark {
  return { id, at };
}

async function judge(
  { history }: ChooseEventsContext,
  replay: Replay,
  { accountId, id: endpointId, events }: Endpoint,
  marks: readonly EventMark[],
): Promise<readonly Judged[]> {
  const deliveries = marks.map(({ eventId, createdAt }) => ({ eventId, createdAt, endpointId }));
  const [heads, states] = await Promise.all([
    history.readHeads(accountId, marks),
    history.readStates(accountId, deliveries),
  ]);
  return marks.map((mark, i) => {
    const [head, state] = [heads[i], states[i]];
    const member = memberOf(mark);
    // Its retention is over.
    if (!head) return { member, isChosen: false, isErased: false, isRequested: false };
    const isWanted = isToBeSent(
      replay,
      { events },
      { head, state: state ?? NOTHING_HAPPENED, hasDelivery: state !== undefined },
    );
    const isErased = isWanted && head.erasedAt !== undefined;
    const isRequested = state?.requestIds.includes(replay.id) ?? false;
    return { member, isChosen: isWanted && !isErased, isErased, isRequested, group: head.group };
  });
}

/** The facts about an event that may be replayed. */
export interface Candidate {
  readonly head: EventHead;
  readonly state: DeliveryState;
  /** Whether a delivery of it to the endpoint exists or existed. */
  readonly hasDelivery: boolean;
}

/**
 * Whether a replay sends an event. An event that this replay requested already, in a step that broke off,
 * still counts.
 */
export function isToBeSent(
  { id, mode }: Pick<Replay, 'id' | 'mode'>,
  { events }: Pick<Endpoint, 'events'>,
  { head, state, hasDelivery }: Candidate,
): boolean {
  if (state.requestIds.includes(id)) return true;
  // It was cancelled before it was due, or is not due yet.
  if (statusOfEvent(head) !== 'accepted') return false;
  const isAskedFor = events.some((filter) => matchesType(filter, head.type));
  switch (mode) {
    case 'failed':
      return !state.isOpen && state.status !== 'delivered';
    case 'missing':
      return !hasDelivery && isAskedFor && !head.isAimed;
    case 'all':
      return isAskedFor && (hasDelivery ? !state.isOpen : !head.isAimed);
  }
}

// One after the other, so that only one payload is in memory at a time, and other work runs in between.
async function filtered(
  context: ChooseEventsContext,
  filter: PayloadFilter,
  { accountId }: Endpoint,
  judged: readonly Judged[],
  enough: number,
): Promise<readonly Judged[]> {
  const left: Judged[] = [];
  let chosen = 0;
  for (const one of judged) {
    const isSure = !one.isChosen || one.isRequested || chosen >= enough;
    const isRefused = !isSure && !(await passes(context, filter, accountId, one.member));
    left.push(isRefused ? { ...one, isChosen: false } : one);
    chosen += Number(left.at(-1)?.isChosen);
  }
  return left;
}

async function passes(
  { history }: ChooseEventsContext,
  filter: PayloadFilter,
  accountId: AccountId,
  { id }: Mark,
): Promise<boolean> {
  const event = await history.findEvent(accountId, id as EventId);
  await setImmediate();
  // Gone meanwhile: the sender finds that out.
  return event?.body === undefined || filter.matches(dataOf(event.body));
}
