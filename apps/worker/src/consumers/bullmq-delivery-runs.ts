import {
  type DeliveryBatch,
  type DeliveryParts,
  type DeliveryRun,
  decodeHolds,
  holdsSince,
  type LanePlace,
  type LaneRun,
  type MemberEnd,
  type PastHold,
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

/** What the runs of a job have of their own. */
type OwnPart = Pick<
  DeliveryRun,
  'hasWaited' | 'holds' | 'request' | 'texts' | 'stepsToEnd' | 'batch' | 'lane' | 'joinLane'
>;

// Each delivery has one, so it is made in one piece: a copy with other members costs several times as much.
function runOf(owned: OwnedJob, { eventId, endpointId }: DeliveryParts, own: OwnPart): DeliveryRun {
  const { job } = owned;
  const { lockDuration } = owned.parts;
  return {
    eventId,
    endpointId,
    accountId: owned.data.account_id,
    hasWaited: own.hasWaited,
    holds: own.holds,
    wasTakenOver: wasTakenOver(owned),
    ownedUntil: (job.processedOn ?? 0) + lockDuration - Math.min(LOCK_MARGIN_MS, lockDuration / 4),
    takenAt: owned.takenAt,
    keepJob: owned.keep,
    request: own.request,
    texts: own.texts,
    stepsToEnd: own.stepsToEnd,
    batch: own.batch,
    lane: own.lane,
    joinLane: own.joinLane,
  };
}

function wasTakenOver({ job }: OwnedJob): boolean {
  return job.stalledCounter > 0;
}

function hasRunBefore({ job }: OwnedJob): boolean {
  return job.attemptsStarted > 1;
}

function holdsOf({ holds }: OwnedJob): readonly PastHold[] | undefined {
  return holds === undefined ? undefined : decodeHolds(holds);
}

/** A delivery's own job runs it. */
export function ownRunOf(
  owned: OwnedJob,
  delivery: DeliveryParts,
  joinLane: DeliveryRun['joinLane'],
): DeliveryRun {
  return runOf(owned, delivery, {
    hasWaited: hasRunBefore(owned),
    holds: holdsOf(owned),
    request: decodeRequest(owned.data),
    texts: owned.texts,
    stepsToEnd: (end) => owned.stepsToEnd(end),
    joinLane,
  });
}

/** A lane's job runs its first delivery, or another one in its place. @param texts what came with the job is the first one's */
export function laneRunOf(
  owned: OwnedJob,
  lane: OwnedLane,
  head: TakenEntry,
  batch: DeliveryBatch,
  texts: DeliveryRun['texts'],
): DeliveryRun {
  return runOf(
    owned,
    { eventId: head.eventId, endpointId: lane.endpointId },
    {
      hasWaited: hasWaitedInLane(owned, head),
      holds: holdsInLane(owned, head),
      request: requestIn(head.request),
      texts,
      stepsToEnd: (end) => owned.stepsToEnd(end),
      batch,
      lane: laneOf(owned, lane, head, batch),
    },
  );
}

// One that was only put off behind an event waited for this service, and for no receiver.
function hasWaitedInLane(owned: OwnedJob, head: TakenEntry): boolean {
  return waitsBehind(head) || head.hadBegun || owned.holds !== undefined || wasTakenOver(owned);
}

// Since it came, behind others; then, as long as the lane did not go on.
function holdsInLane(owned: OwnedJob, head: TakenEntry): readonly PastHold[] {
  const { place } = head;
  const since = holdsSince(holdsOf(owned) ?? [], place);
  return waitsBehind(head) ? [{ reason: 'ordering', since: place }, ...since] : since;
}

function waitsBehind({ hasWaited, isInBatches }: TakenEntry): boolean {
  return hasWaited && !isInBatches;
}

function laneOf(owned: OwnedJob, lane: OwnedLane, head: TakenEntry, batch: DeliveryBatch): LaneRun {
  const { runningLanes } = owned.parts;
  const { lane: name, endpointId } = lane;
  const { eventId, turn, place, isBesideJobs, sent, goesAsNewest = false } = head;
  const own = { eventId, acceptedAt: place };
  const runInPlace = (entry: TakenEntry) => laneRunOf(owned, lane, entry, batch, undefined);
  return {
    name,
    isLine: name !== laneNameOf(endpointId),
    turn,
    place,
    isBesideJobs,
    wasHeld: owned.holds !== undefined,
    hadBegun: head.hadBegun,
    wentTogether: head.hadBegun && head.members !== undefined,
    sent,
    goesAsNewest,
    begin: async (as) => {
      const hasBegun = await runningLanes.begin(lane, eventId, as);
      if (hasBegun) owned.goInOrder();
      return hasBegun;
    },
    giveTurnBack: () => owned.giveTurnBack(),
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
    hold: async (hold) => {
      const isHeld = await runningLanes.hold(lane, hold, own);
      if (isHeld && hold.fullAt !== undefined) owned.waitForMore();
      return isHeld;
    },
    list: (from, most) => runningLanes.list(name, from, most),
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
    if (known) {
      const holds = holdsOf(owned);
      return known.map((member) => this.#memberRun(member, { holds, hasWaited: hasRunBefore(owned) }));
    }
    if (isInOrder) return await this.#gatherHeads(bounds);
    const formed = await owned.formBatch(bounds);
    const holds = holdsOf(owned) ?? [];
    return formed.map((member) =>
      this.#memberRun(member, {
        holds: holdsSince(holds, member.place),
        hasWaited: hasRunBefore(owned),
      }),
    );
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
    return members.map((member) => {
      const entry = { ...head, eventId: member.eventId, place: member.place };
      return this.#memberRun(member, {
        holds: holdsInLane(owned, entry),
        hasWaited: hasWaitedInLane(owned, entry),
        lane: laneOf(owned, lane, entry, this),
      });
    });
  }

  // It ends together with the others.
  #memberRun(
    { eventId, request, texts }: BatchMember,
    { holds, hasWaited, lane }: Pick<DeliveryRun, 'holds' | 'hasWaited' | 'lane'>,
  ): DeliveryRun {
    const { owned } = this;
    const endpointId = (owned.batch ?? owned.lane)?.owned.endpointId;
    if (endpointId === undefined) throw notADelivery();
    return runOf(
      owned,
      { eventId, endpointId },
      {
        hasWaited,
        holds,
        request: requestIn(request),
        texts: isRecent(texts) ? texts : undefined,
        batch: this,
        lane,
      },
    );
  }
}
