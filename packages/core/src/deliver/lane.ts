import { type DeliveryRun, isBefore, type LanePlace, type LaneRun } from '../domain/delivery';
import { type Endpoint, findLane, type LaneName, lineOfLane, placeInOrder } from '../domain/endpoint';
import { AGAIN_AT_ONCE, type DeliverResult, DONE, wakeOthers } from './end-run';
import { SAFETY_WAKE_UP_MS } from './flow/releaser';
import { endUnsent, isGone, type LoadedDelivery, loadDelivery, type ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';

// Fan-outs take milliseconds. An interrupted one is put back for a second, one whose worker died for longer.
export const BEHIND_MS = 100;
// Of a backlog: the lane's own job goes behind them.
const LEAVING_AT_ONCE = 200;
const SUPERSEDED_AT_ONCE = 100;
// Its run goes on with the rest when others have had their turn.
const SUPERSEDED_IN_A_RUN = 200;
const LOOKED_AT_ONCE = 100;
const MOST_ROUNDS = 100;

/**
 * In a lane: gives the delivery if it may go before all that it has to wait for. One that is in none becomes an entry, if it has
 * to.
 *
 * @param deliverInstead runs another entry of the lane in place of this one.
 */
export async function takeTurn(
  parts: AttemptParts,
  ready: ReadyDelivery,
  deliverInstead: (run: DeliveryRun) => Promise<DeliverResult>,
): Promise<DeliverResult | ReadyDelivery> {
  const { run, endpoint, event, attemptNumber } = ready;
  if (run.lane === undefined) {
    const lane = findLane(endpoint, event.group);
    const inOrder = attemptNumber > 1 ? 'keeps_turn' : 'in_order';
    const place = endpoint.ordering === 'none' ? 'in_batches' : inOrder;
    const hasJoined = lane && (await run.joinLane?.(lane, await placeOf(parts, ready, lane), place)) === true;
    if (!hasJoined) return ready;
    wakeOthers(parts, run);
    return DONE;
  }
  if (endpoint.ordering === 'none') return ready;
  if (isToCoalesce(ready, run.lane)) return await takeTurnOfNewest(parts, ready, run.lane, deliverInstead);
  const isUnknown = run.lane.turn === 'unknown';
  const look = isUnknown ? lookForTurn(parts, ready, run.lane, 'first') : lookAgain(parts, ready, run.lane);
  return await goOrWait(parts, ready, await look);
}

// It may have one behind earlier events that were accepted later: the clock of Redis had been set back.
async function placeOf(
  { besideLanes }: AttemptParts,
  { run: { endpointId, eventId }, endpoint, event }: ReadyDelivery,
  lane: LaneName,
): Promise<number> {
  if (endpoint.ordering === 'none') return event.acceptedAt;
  const place = await besideLanes.placeOf(endpointId, lineOfLane(endpointId, lane), eventId);
  return place ?? event.acceptedAt;
}

async function goOrWait(
  parts: AttemptParts,
  ready: ReadyDelivery,
  lane: LaneRun,
): Promise<DeliverResult | ReadyDelivery> {
  const { run } = ready;
  if (lane.turn === 'first') return lane === run.lane ? ready : { ...ready, run: { ...run, lane } };
  if (lane.turn !== 'behind_job') return { kind: 'later', delayMs: BEHIND_MS };
  return { kind: 'later', delayMs: await holdBehindJob(parts, ready, lane) };
}

// Where it can't be part of the script that takes the job. What was fanned out meanwhile is in the lane, before this one.
async function lookForTurn(
  parts: AttemptParts,
  { run, event }: ReadyDelivery,
  lane: LaneRun,
  as: 'first' | 'newest',
): Promise<LaneRun> {
  const { oldestEvents, joinElsewhere, hasTurnElsewhere } = parts;
  const { accountId, eventId } = run;
  const { place } = lane;
  const asked = { accountId, id: eventId, acceptedAt: Math.max(event.acceptedAt, place) };
  // First the events: what they bring meanwhile is in a lane then, maybe that of another shard, or beside it.
  if (await oldestEvents.hasOlder(asked)) return { ...lane, turn: 'behind_event' };
  const { first, isBesideJobs } = await lookBeside(parts, run, lane, as);
  const isBehind = first && isBefore(first, { eventId, acceptedAt: place });
  if (isBehind && first.eventId !== eventId) return { ...lane, isBesideJobs, turn: 'behind_job' };
  if (as === 'newest' && (await joinElsewhere?.(run, lane)))
    return { ...lane, isBesideJobs, turn: 'behind_event' };
  const hasBegun = await lane.begin(as);
  // Of two that begin in two shards, each has its turn before it looks for the other's: so they never both go on.
  const isAlone = hasBegun && !(as === 'first' && (await hasTurnElsewhere?.(run, lane)));
  return { ...lane, isBesideJobs, turn: isAlone ? 'first' : 'behind_event' };
}

// The worker that began its turn may have died before it looked whether another one's has begun in another shard, or before its request
// was about to be sent in place of older ones. Once an attempt is recorded, neither is so.
async function lookAgain(
  { hasTurnElsewhere }: AttemptParts,
  { run, scheduledAttempt }: ReadyDelivery,
  lane: LaneRun,
): Promise<LaneRun> {
  if (lane.turn !== 'first' || scheduledAttempt > 1) return lane;
  const isBehind = (await hasTurnElsewhere?.(run, lane)) === true || (await isBeforeOlder(run, lane));
  if (!isBehind) return lane;
  lane.giveTurnBack();
  return { ...lane, turn: 'behind_event' };
}

// It began as the newest, and goes in its order now.
async function isBeforeOlder({ eventId }: DeliveryRun, lane: LaneRun): Promise<boolean> {
  if (!lane.isLine || !lane.hadBegun || lane.wentTogether || lane.sent?.eventId === eventId) return false;
  const [first] = await lane.list(0, 1);
  return first !== undefined && first.eventId !== eventId;
}

// What has come into the lane with a job of its own keeps its place among those until it ends. The newest goes before: the others of
// the lane end as superseded after it.
async function lookBeside(
  parts: AttemptParts,
  run: DeliveryRun,
  lane: LaneRun,
  as: 'first' | 'newest',
): Promise<{ readonly first: LanePlace | undefined; readonly isBesideJobs: boolean }> {
  if (as === 'newest') return await lookOutside(parts, run, lane);
  const first = await parts.besideLanes.first(run.endpointId, lineOfLane(run.endpointId, lane.name));
  return { first, isBesideJobs: first !== undefined };
}

/** The first delivery beside a lane that is no entry of it, and whether any has a place beside it. */
export async function lookOutside(
  { besideLanes }: AttemptParts,
  { endpointId }: DeliveryRun,
  lane: LaneRun,
): Promise<{ readonly first: LanePlace | undefined; readonly isBesideJobs: boolean }> {
  const line = lineOfLane(endpointId, lane.name);
  for (let from = 0; ; from += LOOKED_AT_ONCE) {
    const some = await besideLanes.list(endpointId, line, from, LOOKED_AT_ONCE);
    const first = some.length > 0 ? await lane.findOutside(some) : undefined;
    if (first || some.length < LOOKED_AT_ONCE) return { first, isBesideJobs: from + some.length > 0 };
  }
}

// Its end wakes the lane up. It may have ended unseen while the lane was being delayed, and it may have no job any more and wait for
// none, which the wake-up finds out.
async function holdBehindJob(
  { releaser, clock }: AttemptParts,
  { run, previousStartedAt }: ReadyDelivery,
  lane: LaneRun,
): Promise<number> {
  const now = clock();
  const wakeUpAt = now + SAFETY_WAKE_UP_MS;
  await lane.hold({ reason: 'ordering', since: now, wakeUpAt, isBehindJob: true, previousStartedAt });
  const delayMs = lane.wasHeld ? SAFETY_WAKE_UP_MS : BEHIND_MS;
  releaser.wakeUpAt(run.accountId, run.endpointId, wakeUpAt);
  return delayMs;
}

/** Whether only the newest of the lane is sent. One that has begun keeps its turn. If it has lost that, it goes as any other newest. */
function isToCoalesce(
  { run, endpoint, scheduledAttempt }: ReadyDelivery,
  { isLine, sent, goesAsNewest }: LaneRun,
): boolean {
  const hasBegun = !goesAsNewest && (scheduledAttempt > 1 || sent?.eventId === run.eventId);
  return isLine && endpoint.coalesce !== undefined && !hasBegun;
}

/** Whether this delivery, which is about to be sent, goes in place of those before it in its lane. */
export function goesInPlaceOfOlder(ready: ReadyDelivery): boolean {
  return ready.run.lane !== undefined && isToCoalesce(ready, ready.run.lane);
}

/**
 * In a lane of which one was sent in place of older ones: end these, whatever their webhook's settings are by now. An event that may
 * still be erased or cancelled supersedes none.
 *
 * @returns what becomes of the run if it was for one of them.
 */
export async function endThoseSentFor(
  parts: AttemptParts,
  loaded: Exclude<LoadedDelivery, { kind: 'ended' }>,
  run: DeliveryRun,
  lane: LaneRun,
): Promise<DeliverResult | undefined> {
  const { sent } = lane;
  const own = { eventId: run.eventId, acceptedAt: lane.place };
  if (!sent || isBefore(sent, own) || !(await wasSent(parts, run, sent))) return undefined;
  const isOver = loaded.kind === 'ready' && isBefore(own, sent) && isNeverTried(loaded);
  if (isOver) {
    const { kind } = await endUnsent(parts, loaded, { kind: 'superseded', by: sent.eventId });
    if (kind === 'changed') return AGAIN_AT_ONCE;
  }
  const areMore = await supersedeOlder(parts, run, lane, sent);
  if (isOver) return DONE;
  return areMore ? AGAIN_AT_ONCE : undefined;
}

/** Without `coalesce`, what was requested after its end is sent. */
function isNeverTried({ scheduledAttempt, roundNumber, endpoint }: ReadyDelivery): boolean {
  return scheduledAttempt === 1 && (endpoint.coalesce !== undefined || roundNumber === 1);
}

/** The newest of a lane goes, once the window of the first one is over. */
async function takeTurnOfNewest(
  parts: AttemptParts,
  ready: ReadyDelivery,
  lane: LaneRun,
  deliverInstead: (run: DeliveryRun) => Promise<DeliverResult>,
): Promise<DeliverResult | ReadyDelivery> {
  const { run, endpoint } = ready;
  const newest = await lane.findNewest();
  if (newest && newest.eventId !== run.eventId) {
    const leftMs = leftOfWindow(endpoint, lane.place, parts.clock());
    if (leftMs > 0) return await waitInWindow(parts, ready, lane, leftMs);
    return await deliverInstead(lane.goTo(newest));
  }
  const [first] = await lane.list(0, 1);
  const leftMs = leftOfWindow(endpoint, first?.acceptedAt ?? lane.place, parts.clock());
  if (leftMs > 0) return await waitInWindow(parts, ready, lane, leftMs);
  return await goOrWait(parts, ready, await lookForTurn(parts, ready, lane, 'newest'));
}

// It is noted before its request: its worker may have been killed after that, and it erased then. What is only in the history has
// almost always been tried.
async function wasSent(
  parts: AttemptParts,
  { endpointId }: DeliveryRun,
  { eventId }: LanePlace,
): Promise<boolean> {
  const { state, length } = await parts.deliveryStore.readWithLength(endpointId, eventId);
  return length > 0 ? state.attempts.length > 0 : await isGone(parts, { endpointId, eventId });
}

// A window may be longer than a delivery may be open.
async function waitInWindow(
  { clock }: AttemptParts,
  { openUntil }: ReadyDelivery,
  lane: LaneRun,
  leftMs: number,
): Promise<DeliverResult> {
  await lane.waitInWindow();
  return { kind: 'later', delayMs: Math.min(leftMs, Math.max(openUntil - clock(), 0)) };
}

// The clock of a producer may be ahead, or that of Redis may have been set back.
function leftOfWindow({ coalesce }: Endpoint, since: number, now: number): number {
  const { window_ms = 0 } = coalesce ?? {};
  return since - now > window_ms ? 0 : since + window_ms - now;
}

/**
 * End those of a lane that are before one that was sent in place of them. What was requested is left to its own run.
 *
 * @returns whether there may be more, which a later run ends.
 */
export async function supersedeOlder(
  parts: AttemptParts,
  run: DeliveryRun,
  lane: LaneRun,
  by: LanePlace,
): Promise<boolean> {
  for (let left = 0, ended = 0; ended < SUPERSEDED_IN_A_RUN; ) {
    const some = await lane.list(left, SUPERSEDED_AT_ONCE);
    const older = some.filter((entry) => isBefore(entry, by));
    const gone = await supersede(parts, run, lane, older, by);
    if (older.length < SUPERSEDED_AT_ONCE) return false;
    ended += gone;
    left += older.length - gone;
  }
  return true;
}

/** Gives how many of some entries have left the lane. */
async function supersede(
  parts: AttemptParts,
  run: DeliveryRun,
  lane: LaneRun,
  older: readonly LanePlace[],
  by: LanePlace,
): Promise<number> {
  const others = older.filter(({ eventId, request }) => eventId !== run.eventId && request === undefined);
  const hasEnded = await Promise.all(
    others.map(async (entry) => {
      const loaded = await loadDelivery(parts, lane.runOf(entry));
      if (loaded.kind !== 'ready') return loaded.kind === 'ended';
      if (!isNeverTried(loaded)) return false;
      return (await endUnsent(parts, loaded, { kind: 'superseded', by: by.eventId })).kind === 'ended';
    }),
  );
  const ended = others.filter((_, i) => hasEnded[i]);
  if (ended.length > 0) await lane.drop(ended.map(({ eventId }) => eventId));
  return ended.length;
}

/**
 * End those behind the first one whose RETENTION is over. One that was requested again may be open for longer than they: until it
 * ends, nothing else would look at them. If this process dies between a look and their end, they are found an hour later.
 */
export async function endThoseOver(parts: AttemptParts, run: DeliveryRun, lane: LaneRun): Promise<void> {
  const { clock, retention, deliveryQueue } = parts;
  const overUntil = clock() - retention.ageMs;
  if (lane.place > overUntil) return;
  for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
    const { entries, areMore } = await deliveryQueue.findOver(run.endpointId, lane.name, overUntil);
    const others = entries.filter(({ eventId }) => eventId !== run.eventId);
    const loaded = await Promise.all(others.map((entry) => loadDelivery(parts, lane.runOf(entry))));
    const ended = others.filter((_, i) => loaded[i]?.kind === 'ended');
    if (ended.length > 0) await lane.drop(ended.map(({ eventId }) => eventId));
    if (!areMore) return;
  }
}

/** It is due later, and others of its lane need not wait for it: it gets a job of its own. */
export async function waitAlone({ eventId }: DeliveryRun, lane: LaneRun): Promise<DeliverResult> {
  await lane.leave([{ eventId, acceptedAt: lane.place }]);
  return DONE;
}

/**
 * Whether a delivery is to be tried in its lane, whatever order its endpoint has now: its request may have been sent in place of older
 * ones by a worker that has died. Only the record of an attempt tells what becomes of those.
 */
export function mayHaveBeenSent(ready: ReadyDelivery, { sent }: LaneRun): boolean {
  return sent?.eventId === ready.event.id && ready.attemptNumber === 1;
}

/** Its endpoint has another order now, or none: each delivery gets a job of its own. */
export async function leaveLane(
  { besideLanes, eventStore, atomic }: AttemptParts,
  { accountId, endpointId }: DeliveryRun,
  lane: LaneRun,
  endpoint: Endpoint,
): Promise<DeliverResult> {
  const first = await lane.list(0, LEAVING_AT_ONCE);
  if (endpoint.ordering !== 'none') {
    const heads =
      endpoint.ordering === 'strict'
        ? []
        : await Promise.all(first.map(({ eventId }) => eventStore.findHead(accountId, eventId)));
    const places = first.flatMap(({ eventId, acceptedAt }, i) => {
      const place = placeInOrder(endpoint, heads[i]?.group);
      return place ? [{ eventId, acceptedAt, ...place }] : [];
    });
    await atomic([besideLanes.join(endpointId, places)]);
  }
  await lane.leave(first);
  return DONE;
}
