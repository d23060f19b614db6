import type { DeliveryRun, LanePlace, LaneRun } from '../domain/delivery';
import { type Endpoint, findLane, laneToJoin } from '../domain/endpoint';
import { AGAIN_AT_ONCE, type DeliverResult, DONE } from './end-run';
import { endUnsent, loadDelivery, type ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';

// Fan-outs take milliseconds. An interrupted one is put back for a second, one whose worker died for longer.
const BEHIND_MS = 100;
// Of a backlog: the lane's own job goes behind them.
const LEAVING_AT_ONCE = 200;
const SUPERSEDED_AT_ONCE = 100;

/**
 * In a lane: whether this delivery may go before all that it has to wait for. Another one becomes an entry, if it has to.
 *
 * @param deliverInstead runs another entry of the lane in place of this one.
 */
export async function takeTurn(
  parts: AttemptParts,
  ready: ReadyDelivery,
  deliverInstead: (run: DeliveryRun) => Promise<DeliverResult>,
): Promise<DeliverResult | 'goes_on'> {
  const { run, endpoint, event, attemptNumber } = ready;
  if (run.lane === undefined) {
    const lane = findLane(endpoint, event.group);
    const hasJoined = lane && (await run.joinLane?.(lane, event.acceptedAt, attemptNumber > 1)) === true;
    return hasJoined ? DONE : 'goes_on';
  }
  if (isToCoalesce(ready, run.lane)) return await takeTurnOfNewest(parts, ready, run.lane, deliverInstead);
  return await waitForTurn(parts, ready, run.lane, 'first');
}

async function waitForTurn(
  parts: AttemptParts,
  ready: ReadyDelivery,
  lane: LaneRun,
  as: 'first' | 'newest',
): Promise<DeliverResult | 'goes_on'> {
  const { run } = ready;
  const isFirst = lane.turn === 'first' && as === 'first';
  const turn = isFirst ? 'first' : await lookForTurn(parts, ready, lane, as);
  if (turn === 'first') return 'goes_on';
  // It may have no job any more, and wait for none: the wake-up finds that out.
  if (turn === 'behind_former') parts.releaser.wakeUpAt(run.accountId, run.endpointId, parts.clock());
  return { kind: 'later', delayMs: BEHIND_MS };
}

// Where it can't be part of the script that takes the job. What was fanned out meanwhile is in the lane, before this one.
async function lookForTurn(
  { oldestEvents, admissionStore }: AttemptParts,
  { run, event }: ReadyDelivery,
  lane: LaneRun,
  as: 'first' | 'newest',
): Promise<LaneRun['turn']> {
  if (lane.turn === 'behind_former') return lane.turn;
  const { accountId, endpointId, eventId } = run;
  const place = { eventId, acceptedAt: lane.place };
  if (await admissionStore.hasEarlierInOrder(endpointId, place, lane.name)) return 'behind_former';
  const asked = { accountId, id: eventId, acceptedAt: Math.max(event.acceptedAt, lane.place) };
  if (await oldestEvents.hasOlder(asked)) return 'behind_event';
  return (await lane.begin(as)) ? 'first' : 'behind_event';
}

/** Whether only the newest of the lane is sent. One that has begun keeps its turn. */
function isToCoalesce(
  { run, endpoint, scheduledAttempt }: ReadyDelivery,
  { isLine, sent }: LaneRun,
): boolean {
  const hasBegun = scheduledAttempt > 1 || sent?.eventId === run.eventId;
  return isLine && endpoint.coalesce !== undefined && !hasBegun;
}

/** Whether this delivery, which is about to be sent, goes in place of those before it in its lane. */
export function goesInPlaceOfOlder(ready: ReadyDelivery): boolean {
  return ready.run.lane !== undefined && isToCoalesce(ready, ready.run.lane);
}

/**
 * The newest of a lane goes, once the window of the first one is over. Those before the last one that was sent end: an event that
 * may still be erased or cancelled supersedes none.
 */
async function takeTurnOfNewest(
  parts: AttemptParts,
  ready: ReadyDelivery,
  lane: LaneRun,
  deliverInstead: (run: DeliveryRun) => Promise<DeliverResult>,
): Promise<DeliverResult | 'goes_on'> {
  const { run, endpoint } = ready;
  if (lane.sent && isBefore({ eventId: run.eventId, acceptedAt: lane.place }, lane.sent)) {
    const { kind } = await endUnsent(parts, ready, { kind: 'superseded', by: lane.sent.eventId });
    if (kind === 'changed') return AGAIN_AT_ONCE;
    await supersedeOlder(parts, run, lane, lane.sent);
    return DONE;
  }
  const newest = await lane.findNewest();
  if (newest && newest.eventId !== run.eventId) {
    const leftMs = leftOfWindow(endpoint, lane.place, parts.clock());
    if (leftMs > 0) return await waitInWindow(lane, leftMs);
    return await deliverInstead(lane.goTo(newest));
  }
  const [first] = await lane.listFirst(1);
  const leftMs = leftOfWindow(endpoint, first?.acceptedAt ?? lane.place, parts.clock());
  if (leftMs > 0) return await waitInWindow(lane, leftMs);
  return await waitForTurn(parts, ready, lane, 'newest');
}

async function waitInWindow(lane: LaneRun, delayMs: number): Promise<DeliverResult> {
  await lane.waitInWindow();
  return { kind: 'later', delayMs };
}

// The clock of a producer may be ahead.
function leftOfWindow({ coalesce }: Endpoint, since: number, now: number): number {
  const { window_ms = 0 } = coalesce ?? {};
  return Math.min(since + window_ms - now, window_ms);
}

function isBefore(one: LanePlace, other: LanePlace): boolean {
  if (one.acceptedAt !== other.acceptedAt) return one.acceptedAt < other.acceptedAt;
  return one.eventId < other.eventId;
}

/** End those of a lane that are before one that was sent in place of them. What is left, a later run finds. */
export async function supersedeOlder(
  parts: AttemptParts,
  run: DeliveryRun,
  lane: LaneRun,
  by: LanePlace,
): Promise<void> {
  const first = await lane.listFirst(SUPERSEDED_AT_ONCE);
  const older = first.filter((entry) => isBefore(entry, by) && entry.eventId !== run.eventId);
  const hasEnded = await Promise.all(
    older.map(async (entry) => {
      const loaded = await loadDelivery(parts, lane.runOf(entry));
      if (loaded.kind !== 'ready') return loaded.kind === 'ended';
      if (loaded.scheduledAttempt > 1) return false;
      return (await endUnsent(parts, loaded, { kind: 'superseded', by: by.eventId })).kind === 'ended';
    }),
  );
  const ended = older.filter((_, i) => hasEnded[i]);
  if (ended.length > 0) await lane.drop(ended.map(({ eventId }) => eventId));
}

/** Its endpoint has another order now, or none: each delivery gets a job of its own. */
export async function leaveLane(
  { admissionStore, eventStore, atomic }: AttemptParts,
  { accountId, endpointId }: DeliveryRun,
  lane: LaneRun,
  endpoint: Endpoint,
): Promise<DeliverResult> {
  const first = await lane.listFirst(LEAVING_AT_ONCE);
  if (endpoint.ordering !== 'none') {
    const heads =
      endpoint.ordering === 'strict'
        ? []
        : await Promise.all(first.map(({ eventId }) => eventStore.findHead(accountId, eventId)));
    const places = first.flatMap(({ eventId, acceptedAt }, i) => {
      const name = laneToJoin(endpoint, { id: eventId, group: heads[i]?.group });
      return name === undefined ? [] : [{ eventId, acceptedAt, lane: name }];
    });
    await atomic([admissionStore.joinOrder(endpointId, places)]);
  }
  await lane.leave(first.map(({ eventId }) => eventId));
  return DONE;
}
