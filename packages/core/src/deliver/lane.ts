import type { DeliveryRun, LaneRun } from '../domain/delivery';
import { type Endpoint, laneToJoin, usesLane } from '../domain/endpoint';
import { type DeliverResult, DONE } from './end-run';
import type { ReadyDelivery } from './load-delivery';
import type { AttemptParts } from './open-delivery';

// Fan-outs take milliseconds. An interrupted one is put back for a second, one whose worker died for longer.
const BEHIND_MS = 100;
// Of a backlog: the lane's own job goes behind them.
const LEAVING_AT_ONCE = 200;

/** In a lane: whether this delivery may go before all that it has to wait for. Another one becomes an entry, if it has to. */
export async function takeTurn(
  parts: AttemptParts,
  ready: ReadyDelivery,
): Promise<DeliverResult | 'goes_on'> {
  const { run, endpoint, event, attemptNumber } = ready;
  if (run.lane === undefined) {
    const inOrder = attemptNumber > 1 ? 'keeps_turn' : 'in_order';
    const place = endpoint.ordering === 'strict' ? inOrder : 'in_batches';
    const hasJoined = usesLane(endpoint) && (await run.joinLane?.(event.acceptedAt, place)) === true;
    return hasJoined ? DONE : 'goes_on';
  }
  if (endpoint.ordering === 'none') return 'goes_on';
  const turn = run.lane.turn === 'unknown' ? await lookForTurn(parts, ready, run.lane) : run.lane.turn;
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
): Promise<LaneRun['turn']> {
  const { accountId, endpointId, eventId } = run;
  if (await admissionStore.hasEarlierInOrder(endpointId, { eventId, acceptedAt: lane.place })) {
    return 'behind_former';
  }
  const asked = { accountId, id: eventId, acceptedAt: Math.max(event.acceptedAt, lane.place) };
  if (await oldestEvents.hasOlder(asked)) return 'behind_event';
  return (await lane.begin()) ? 'first' : 'behind_event';
}

/** It is due later, and others of its lane need not wait for it: it gets a job of its own. */
export async function waitAlone({ eventId }: DeliveryRun, lane: LaneRun): Promise<DeliverResult> {
  await lane.leave([eventId]);
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
  await lane.leave(first.map(({ eventId }) => eventId));
  return DONE;
}
