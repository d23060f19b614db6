import {
  type DeliveryBatch,
  type DeliveryRun,
  holdsSince,
  type JobEnd,
  type MemberEnd,
  type WantedBatch,
} from '@hookferry/core/domain/delivery';
import type { Step } from '@hookferry/core/platform/redis-script';
import type { BatchBounds } from '@hookferry/core/queue/bullmq-running-batches';
import type { DeliveryJob } from '@hookferry/core/queue/delivery-job';
import type { Job } from 'bullmq';
import { type DeliveryJobData, type DeliveryWorker, readData } from './bullmq-delivery-worker';

/** The deliveries that go together by one running job, of a lane or of a batch. */
export class JobBatch implements DeliveryBatch {
  readonly #data: DeliveryJobData;

  /** @param mayShare whether several may go together: while queues are split again, each is claimed by itself. */
  constructor(
    private readonly worker: DeliveryWorker,
    private readonly job: Job<DeliveryJob, JobEnd>,
    private readonly mayShare: boolean,
  ) {
    this.#data = readData(job.data);
  }

  get jobId(): string {
    return this.job.id ?? '';
  }

  async gather({ isInOrder, ...wanted }: WantedBatch): Promise<readonly DeliveryRun[]> {
    const { worker, job } = this;
    const bounds = this.mayShare ? wanted : { ...wanted, only: worker.laneOf(job)?.head.eventId };
    const known = worker.batchOf(job)?.members;
    if (known) return known.map((member) => worker.memberRunOf(job, member, this.#data, this));
    if (isInOrder) return await this.#gatherHeads(bounds);
    const formed = await worker.formBatch(job, bounds);
    return formed.map(({ place, ...member }) => {
      const run = worker.memberRunOf(job, member, this.#data, this);
      return { ...run, holds: holdsSince(run.holds ?? [], place) };
    });
  }

  stepsToEnd(ends: readonly MemberEnd[]): readonly Step[] {
    return this.worker.stepsToEndAll(this.job, ends);
  }

  // They wait in the lane, and are held with it.
  async #gatherHeads(bounds: BatchBounds) {
    const { worker, job } = this;
    const lane = worker.laneOf(job);
    if (!lane) return [];
    const { head, owned } = lane;
    const members = await worker.beginHeads(job, bounds);
    return members.map(({ place, ...member }) => {
      const run = worker.memberRunOf(job, member, this.#data, this);
      const own = { ...head, eventId: member.eventId, place };
      const ofLane = worker.laneRunOf(job, own, owned, this.#data, this);
      return { ...run, holds: ofLane.holds, hasWaited: ofLane.hasWaited, lane: ofLane.lane };
    });
  }
}
