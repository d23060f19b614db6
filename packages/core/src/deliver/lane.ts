import { type DeliveryRun, isBefore, type LaneRun } from '../domain/delivery';
import { type Endpoint, laneToJoin, usesLane } from '../domain/endpoint';
import { type DeliverResult, DONE } from './end-run';
import { SAFETY_WAKE_UP_MS } from './flow/releaser';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';

// Fan-outs take milliseconds. An interrupted one is put back for a second, one whose worker died for longer.
export const BEHIND_MS = 100;
// Of a backlog: the lane's own job goes behind them.
const LEAVING_AT_ONCE = 200;

/**
 * In a lane: gives the delivery if it may go before all that it has to wait for. One that is in none becomes an entry, if it has
 * to.
 */
export async function takeTurn(
  parts: AttemptParts,
  ready: ReadyDelivery,
): Promise<DeliverResult | ReadyDelivery> {
  const { run, endpoint, event, attemptNumber } = ready;
  if (run.lane === undefined) {
    const inOrder = attemptNumber > 1 ? 'keeps_turn' : 'in_order';
    const place = endpoint.ordering === 'strict' ? inOrder : 'in_batches';
    const hasJoined = usesLane(endpoint) && (await run.joinLane?.(event.acceptedAt, place)) === true;
    return hasJoined ? DONE : ready;
  }
  if (endpoint.ordering === 'none') return ready;
  const lane = run.lane.turn === 'unknown' ? await lookForTurn(parts, ready, run.lane) : run.lane;
  if (lane.turn === 'first') return lane === run.lane ? ready : { ...ready, run: { ...run, lane } };
  const delayMs = lane.turn === 'behind_job' ? await holdBehindJob(parts, ready, lane) : BEHIND_MS;
  return { kind: 'later', delayMs };
}

// Where it can't be part of the script that takes the job. What was fanned out meanwhile is in the lane, before this one.
async function lookForTurn(
  { oldestEvents, admissionStore }: AttemptParts,
  { run, event }: ReadyDelivery,
  lane: LaneRun,
): Promise<LaneRun> {
  const { accountId, endpointId, eventId } = run;
  const { place } = lane;
  const first = await admissionStore.firstWithJob(endpointId);
  const isBesideJobs = first !== undefined;
  const isBehind = first && isBefore(first, { eventId, acceptedAt: place });
  if (isBehind && first.eventId !== eventId) return { ...lane, isBesideJobs, turn: 'behind_job' };
  const asked = { accountId, id: eventId, acceptedAt: Math.max(event.acceptedAt, place) };
  const isFirst = !(await oldestEvents.hasOlder(asked)) && (await lane.begin());
  return { ...lane, isBesideJobs, turn: isFirst ? 'first' : 'behind_event' };
}

// Its end wakes the lane up. It may have ended unseen while the lane was being delayed, and it may have no job any more and wait for
// none, which the wake-up finds out.
async function holdBehindJob(
  { releaser, clock }: AttemptParts,
  { run, previousStartedAt }: ReadyDelivery,
  lane: LaneRun,
): Promise<number> {
  const now = clock();
  await lane.hold({ reason: 'ordering', since: now }, previousStartedAt);
  const delayMs = lane.wasHeld ? SAFETY_WAKE_UP_MS : BEHIND_MS;
  releaser.wakeUpAt(run.accountId, run.endpointId, now + SAFETY_WAKE_UP_MS);
  return delayMs;
}

/** It is due later, and others of its lane need not wait for it: it gets a job of its own. */
export async function waitAlone({ eventId }: DeliveryRun, lane: LaneRun): Promise<DeliverResult> {
  await lane.leave([{ eventId, acceptedAt: lane.place }]);
  return DONE;
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
  await lane.leave(first);
  return DONE;
}
