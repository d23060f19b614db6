import {
  type DeliveryParts,
  type DeliveryRun,
  decodeHolds,
  type JobEnd,
} from '@hookferry/core/domain/delivery';
import type { Clock } from '@hookferry/core/platform/clock';
import type { Step } from '@hookferry/core/platform/redis-script';
import { decodeRequest, deliveryJobSchema } from '@hookferry/core/queue/bullmq-delivery-queue';
import { DUE_GRACE_MS, type DueDeliveries } from '@hookferry/core/queue/bullmq-due-deliveries';
import { type Job, UnrecoverableError } from 'bullmq';
import type { z } from 'zod';
import type { DeliveryWorker, JobRef } from './bullmq-delivery-worker';

export type DeliveryJobData = z.output<typeof deliveryJobSchema>;

type RunningJob = JobRef & Pick<Job, 'attemptsStarted' | 'stalledCounter' | 'processedOn'>;

// Before the lock ends, so that a request leaves while this process still owns the job.
const LOCK_MARGIN_MS = 500;

/** The runs of a worker's jobs: what each knows of its delivery, and how its job ends. */
export class DeliveryRuns {
  constructor(
    private readonly worker: DeliveryWorker,
    private readonly dueDeliveries: DueDeliveries,
    private readonly lockDurationMs: number,
    private readonly clock: Clock,
  ) {}

  runOf(job: RunningJob, { eventId, endpointId }: DeliveryParts, data: DeliveryJobData): DeliveryRun {
    const { lockDurationMs } = this;
    return {
      eventId,
      endpointId,
      accountId: data.account_id,
      hasWaited: job.attemptsStarted > 1,
      wasTakenOver: job.stalledCounter > 0,
      ownedUntil: (job.processedOn ?? 0) + lockDurationMs - Math.min(LOCK_MARGIN_MS, lockDurationMs / 4),
      takenAt: this.worker.takenAt(job),
      keepJob: (target) => this.worker.keep(job)(target),
      request: decodeRequest(data),
      stepsToEnd: (end) => this.stepsToEnd([job], end),
    };
  }

  /** The steps that let go of running jobs: none if none of them runs any more. */
  stepsToEnd(jobs: readonly JobRef[], end: JobEnd): readonly Step[] {
    if (end.kind === 'done') return this.worker.stepsToEnd(jobs, end);
    const steps = this.worker.stepsToEnd(jobs, delayed(end.delayMs, end.failure));
    if (steps.length > 0) this.#expectIn(end.delayMs);
    return steps;
  }

  /** The end of a job that is due again after a delay. It is put back in time. */
  putOff(delayMs: number, failure?: string): JobEnd {
    this.#expectIn(delayMs);
    return delayed(delayMs, failure);
  }

  #expectIn(delayMs: number): void {
    this.dueDeliveries.expect(this.clock() + delayMs);
  }
}

function delayed(delayMs: number, failure?: string): JobEnd {
  return { kind: 'delayed', delayMs: delayMs + DUE_GRACE_MS, failure };
}

export function readData(data: unknown): DeliveryJobData {
  const read = deliveryJobSchema.safeParse(data);
  if (!read.success) throw notADelivery();
  return read.data;
}

export function readHolds(text: string | undefined): DeliveryRun['holds'] {
  return text === undefined ? undefined : decodeHolds(text);
}

export function notADelivery(): Error {
  return new UnrecoverableError('Not a delivery job.');
}
