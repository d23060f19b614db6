import {
  type DeliveryBatch,
  type DeliveryParts,
  type DeliveryRun,
  decodeHolds,
  holdsSince,
  type LanePlace,
  type LaneRun,
  type MemberEnd,
  type WantedBatch,
} from '@hookferry/core/domain/delivery';
import { laneNameOf } from '@hookferry/core/domain/endpoint';
import type { EventId } from '@hookferry/core/domain/event';
import { parsedOrUndefined } from '@hookferry/core/platform/json';
import type { Step } from '@hookferry/core/platform/redis-script';
import type { BatchBounds, BatchMember } from '@hookferry/core/queue/bullmq-running-batches';
import type { TakenHead } from '@hookferry/core/queue/bullmq-running-jobs';
import type { OwnedLane } from '@hookferry/core/queue/bullmq-running-lanes';
import { decodeRequest, requestSchema } from '@hookferry/core/queue/delivery-job';
import { isRecent, notADelivery, type OwnedJob, type TakenEntry } from './bullmq-owned-job';

// What a worker's jobs are to `deliver`: runs of deliveries.

// Before the lock ends, so that a request leaves while this process still owns the job.
const LOCK_MARGIN_MS = 500;

/** What a job says of its delivery, and how it ends. @param batch absent: it goes alone. */
export function runOf(
  owned: OwnedJob,
  { eventId, endpointId }: DeliveryParts,
  batch?: DeliveryBatch,
): DeliveryRun {
  const { job, data, holds } = owned;
  const { lockDuration } = owned.parts;
  return {
    eventId,
    endpointId,
    accountId: data.account_id,
    hasWaited: job.attemptsStarted > 1,
    holds: holds === undefined ? undefined : decodeHolds(holds),
    wasTakenOver: job.stalledCounter > 0,
    ownedUntil: (job.processedOn ?? 0) + lockDuration - Math.min(LOCK_MARGIN_MS, lockDuration / 4),
    takenAt: owned.takenAt,
    keepJob: owned.keep,
    request: decodeRequest(data),
    texts: owned.texts,
    stepsToEnd: (end) => owned.stepsToEnd(end),
    batch,
  };
}

/** A lane's job runs its first delivery, or another one in its place. */
export function laneRunOf(
  owned: OwnedJob,
  lane: OwnedLane,
  head: TakenEntry,
  batch: DeliveryBatch,
): DeliveryRun {
  const { place, hadBegun } = head;
  const run = runOf(owned, { eventId: head.eventId, endpointId: lane.endpointId }, batch);
  const waitsBehind = head.hasWaited && !head.isInBatches;
  // Since it came, behind others; then, as long as the lane did not go on.
  const behind = waitsBehind ? [{ reason: 'ordering', since: place } as const] : [];
  return {
    ...run,
    request: requestIn(head.request),
    // One that was only put off behind an event waited for this service, and for no receiver.
    hasWaited: waitsBehind || hadBegun || owned.holds !== undefined || run.wasTakenOver,
    holds: [...behind, ...holdsSince(run.holds ?? [], place)],
    lane: laneOf(owned, lane, head, batch),
  };
}

function laneOf(owned: OwnedJob, lane: OwnedLane, head: TakenEntry, batch: DeliveryBatch): LaneRun {
  const { runningLanes } = owned.parts;
  const { lane: name, endpointId } = lane;
  const { eventId, turn, place, isBesideJobs, sent, goesAsNewest = false } = head;
  const own = { eventId, acceptedAt: place };
  // What came with the job is the first one's.
  const runInPlace = (entry: TakenEntry) => ({
    ...laneRunOf(owned, lane, entry, batch),
    texts: undefined,
  });
  return {
    name,
    isLine: name !== laneNameOf(endpointId),
    turn,
    place,
    isBesideJobs,
    wasHeld: owned.holds !== undefined,
    wentTogether: head.hadBegun && head.members !== undefined,
    sent,
    goesAsNewest,
    begin: async (as) => {
      const hasBegun = await runningLanes.begin(lane, eventId, as);
      if (hasBegun) owned.goInOrder();
      return hasBegun;
    },
    markSent: () => runningLanes.markSent(lane, own),
    unmarkSent: () => runningLanes.unmarkSent(lane, own, sent),
    findOutside: (entries) => runningLanes.findOutside(name, entries),
    findNewest: () => runningLanes.findNewest(name),
    runOf: (entry) => runInPlace(headAt(head, entry)),
    goTo: (entry) => {
      const other = { ...headAt(head, entry), goesAsNewest: true };
      owned.goTo(other);
      return runInPlace(other);
    },
    waitInWindow: () => runningLanes.waitInWindow(lane),
    hold: async (hold, previousStartedAt, fullAt) => {
      const isHeld = await runningLanes.hold(lane, hold, previousStartedAt, fullAt);
      if (isHeld && fullAt !== undefined) owned.waitForMore();
      return isHeld;
    },
    close: async (hold) => {
      const isHeld = await runningLanes.close(lane, own, hold);
      if (isHeld && hold.fullAt !== undefined) owned.waitForMore();
      return isHeld;
    },
    listFirst: (most) => runningLanes.listFirst(name, most),
    drop: (events) => runningLanes.drop(name, events),
    leave: (entries) => owned.endBy(runningLanes.leave(lane, entries)),
  };
}

/** Another entry of a lane in place of its head. Its turn has not begun. */
function headAt(head: TakenHead, { eventId, acceptedAt: place, request }: LanePlace): TakenEntry {
  return { ...head, eventId, place, request, turn: 'unknown', hadBegun: false };
}

/** @param stored as a lane or a batch has it. */
function requestIn(stored: string | undefined): DeliveryRun['request'] {
  const request = stored === undefined ? undefined : requestSchema.safeParse(parsedOrUndefined(stored)).data;
  return decodeRequest({ request });
}

/** The deliveries that go together by one running job, of a lane or of a batch. */
export class JobBatch implements DeliveryBatch {
  /** @param mayShare whether several may go together: while queues are split again, each is claimed by itself. */
  constructor(
    private readonly owned: OwnedJob,
    private readonly mayShare: boolean,
  ) {}

  get jobId(): string {
    return this.owned.job.id ?? '';
  }

  async gather({ isInOrder, ...wanted }: WantedBatch): Promise<readonly DeliveryRun[]> {
    const { owned } = this;
    const bounds = this.mayShare ? wanted : { ...wanted, only: owned.lane?.head.eventId };
    const known = owned.batch?.members;
    if (known) return known.map((member) => this.#memberRun(member));
    if (isInOrder) return await this.#gatherHeads(bounds);
    const formed = await owned.formBatch(bounds);
    return formed.map(({ place, ...member }) => {
      const run = this.#memberRun(member);
      return { ...run, holds: holdsSince(run.holds ?? [], place) };
    });
  }

  async keepTogether(events: readonly EventId[], gathered: readonly EventId[]): Promise<boolean> {
    return await this.owned.keepTogether(events, gathered);
  }

  stepsToEnd(ends: readonly MemberEnd[]): readonly Step[] {
    return this.owned.stepsToEndAll(ends);
  }

  // They wait in the lane, and are held with it.
  async #gatherHeads(bounds: BatchBounds) {
    const { owned } = this;
    if (!owned.lane) return [];
    const { head, owned: lane } = owned.lane;
    const members = await owned.beginHeads(bounds);
    return members.map(({ place, ...member }) => {
      const run = this.#memberRun(member);
      const ofLane = laneRunOf(owned, lane, { ...head, eventId: member.eventId, place }, this);
      return { ...run, holds: ofLane.holds, hasWaited: ofLane.hasWaited, lane: ofLane.lane };
    });
  }

  // It ends together with the others.
  #memberRun({ eventId, request, texts }: BatchMember): DeliveryRun {
    const { owned } = this;
    const endpointId = (owned.batch ?? owned.lane)?.owned.endpointId;
    if (endpointId === undefined) throw notADelivery();
    const { stepsToEnd: _ofAll, ...run } = runOf(owned, { eventId, endpointId }, this);
    return { ...run, request: requestIn(request), texts: isRecent(texts) ? texts : undefined };
  }
}
