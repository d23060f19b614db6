import { ErrorCode, type Job, type Worker } from 'bullmq';
import { AccountStore } from '../../accounts/redis-account-store';
import { deliver } from '../../deliver/deliver';
import { Ed25519Signatures } from '../../deliver/ed25519-signatures';
import type { DeliverResult } from '../../deliver/end-run';
import { BatchSizes } from '../../deliver/flow/batch-sizes';
import { Concurrency, type Permit } from '../../deliver/flow/concurrency';
import { Slots } from '../../deliver/flow/slots';
import type { AttemptParts } from '../../deliver/open-delivery';
import type { AttemptStore } from '../../deliver/redis-attempt-store';
import {
  type DeliveryBatch,
  type DeliveryRun,
  type JobEnd,
  parseDeliveryId,
  type WantedBatch,
} from '../../domain/delivery';
import type { EndpointAddress, EndpointId } from '../../domain/endpoint';
import type { EventId } from '../../domain/event';
import type { DeliveryRequest, SendResult } from '../../domain/transport';
import type { HealthRecorder } from '../../endpoints/health/health-recorder';
import type { OperationalEvents } from '../../endpoints/operational-events';
import { TransformationStore } from '../../endpoints/redis-transformation-store';
import { SigningKeyStore } from '../../endpoints/signing-keys/redis-signing-key-store';
import type { DeliveryStore } from '../../events/redis-delivery-store';
import { Turns } from '../../platform/batches';
import { atomicOneByOne } from '../../platform/redis-atomic';
import type { Step } from '../../platform/redis-script';
import type { TakenBatchJob } from '../../queue/bullmq-batch-jobs';
import { type DeliveryJob, decodeRequest, deliveryJobSchema } from '../../queue/bullmq-delivery-queue';
import type { HeldDeliveries } from '../../queue/bullmq-held-deliveries';
import type { LockedJob } from '../../queue/bullmq-running-jobs';
import type { TransformPool } from '../../transform/transform-pool';
import type { buildAdmission } from '../build-admission';
import { atomicStepByStep, buildAtomicOf, buildGuard } from '../build-atomic';
import { fake } from '../fake';
import { noTokens } from '../no-tokens';
import { Stepwise } from '../stepwise';
import { testRetention } from '../test-retention';
import { testSealer } from '../test-sealer';
import { withMethods } from '../with-methods';
import type { ModelLane } from './model-lane';

type Admission = ReturnType<typeof buildAdmission>;

/** A worker process, or the one that is started when it has died. */
export interface ModelProcess {
  readonly worker: Worker<DeliveryJob>;
  readonly concurrency: Concurrency;
}

export interface ModelRun {
  readonly process: ModelProcess;
  /** Which delivery, by its index. */
  readonly of: number;
  readonly jobId: string;
  readonly token: string;
  readonly work: Stepwise;
  /** The other jobs of its batch that it has not let go of. */
  others: readonly ModelBatchJob[];
  /** The deliveries of its request, by their indexes. */
  sends: readonly number[];
  /** Whether it lost its lock: its process was stopped for so long, and knows by its own clock. */
  hasLostLock: boolean;
  /** Its permit at the endpoint. */
  permit: Permit | undefined;
}

export interface ModelBatchJob extends LockedJob {
  readonly of: number;
}

/** Where a run stands while its request is under way. */
export const SENDING = 'the answer';

/** Why BullMQ delayed a job at the end of a run, if it did. */
export type PutOff = 'held' | 'retry';

export interface RunEvents {
  /** A request is on its way from here on. */
  onRequest(run: ModelRun): Promise<void>;
  /** The job of a delivery is delayed, or has ended. */
  onPutOff(of: number, why: PutOff | undefined): void;
  indexOf(eventId: string): number;
}

// Longer than any test: a job that is put off comes back when the model says so.
export const PUT_OFF_MS = 3_600_000;
// Two attempts: the first failure leads to another one, the second to the end.
const RETRY_SCHEDULE = [600_000];
const SLOTS = 16;
const MAX_PER_ENDPOINT = 8;

const NOT_OURS: readonly unknown[] = [
  ErrorCode.JobLockMismatch,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotExist,
  ErrorCode.JobNotInState,
];

export function startProcess(admission: Admission, worker: Worker<DeliveryJob>): ModelProcess {
  const slots = new Slots({
    quick: SLOTS,
    slow: SLOTS,
    onCapacity: () => {},
    clock: admission.clock,
    measureTurn: () => {},
  });
  const concurrency = new Concurrency({
    slots,
    onSlotFree: () => {},
    sharePerEndpoint: MAX_PER_ENDPOINT,
    maxPerEndpoint: MAX_PER_ENDPOINT,
    maxUnknown: SLOTS,
    patienceMs: 0,
  });
  return { worker, concurrency };
}

/** A run of a process that has died: nothing of it is left in memory. */
export function dropRun({ process, permit }: ModelRun): void {
  if (permit) process.concurrency.releasePermit(permit, undefined);
}

/** Lets a process take the next job, as BullMQ's own loop does, and stands still before it is worked on. */
export async function startRun(
  lane: ModelLane,
  process: ModelProcess,
  token: string,
  events: RunEvents,
): Promise<ModelRun | undefined> {
  const job = await process.worker.getNextJob(token, { block: false });
  const parts = parseDeliveryId(job?.id ?? '');
  if (!job || !parts) return undefined;
  const run: ModelRun = {
    process,
    of: events.indexOf(parts.eventId),
    jobId: job.id ?? '',
    token,
    work: new Stepwise(),
    others: [],
    sends: [],
    hasLostLock: false,
    permit: undefined,
  };
  await run.work.start(async () => {
    await run.work.pause('its job');
    await workOn(lane, run, job, events);
  });
  return run;
}

/** As the product's consumer does: apps/worker/src/consumers/bullmq-deliver.ts. */
async function workOn(
  lane: ModelLane,
  run: ModelRun,
  job: Job<DeliveryJob>,
  events: RunEvents,
): Promise<void> {
  const hold = { hasHeld: false };
  const parts = stepwiseParts(lane, run, events, hold);
  const { id: jobId = '', data, attemptsStarted, stalledCounter } = job;
  const batch = new ModelBatch(lane, run, events);
  const own = readRun(run, { jobId, data, attemptsStarted, stalledCounter }, { batch });
  const result = await deliver(parts, own, new AbortController().signal);
  await run.work.pause('its end');
  const isStillOurs = await endRun(job, run.token, result);
  if (isStillOurs) events.onPutOff(run.of, putOffOf(result, hold.hasHeld));
}

function stepwiseParts(
  { redis, admission, eventStore, endedList }: ModelLane,
  run: ModelRun,
  events: RunEvents,
  hold: { hasHeld: boolean },
): AttemptParts {
  const { work, process } = run;
  const { deliveryStore, attemptStore, heldDeliveries } = admission;
  // What is done for each delivery of a request comes one after the other, so that it stands still at each.
  const turns = new Turns();
  // A record that stands still first is no call of the unit of its step, and so no guard by itself.
  let isRecorded = true;
  const atomic = atomicStepByStep(
    redis,
    async () => {},
    () => isRecorded,
  );
  return {
    ...admission,
    beginSpan: undefined,
    retention: testRetention,
    eventStore,
    accountStore: new AccountStore(redis),
    signingKeyStore: new SigningKeyStore(redis, testSealer),
    ed25519Signatures: new Ed25519Signatures(),
    accessTokens: noTokens,
    endedList,
    transformationStore: new TransformationStore(redis),
    transformPool: fake<TransformPool>({
      run: () => Promise.reject(new Error('No endpoint of the model has code.')),
    }),
    concurrency: withMethods(process.concurrency, {
      async takePermit(...args: Parameters<Concurrency['takePermit']>) {
        await work.pause('its admission');
        const permit = await process.concurrency.takePermit(...args);
        if (typeof permit === 'object') run.permit = permit;
        return permit;
      },
      releasePermit(...args: Parameters<Concurrency['releasePermit']>) {
        run.permit = undefined;
        process.concurrency.releasePermit(...args);
      },
    }),
    heldDeliveries: withMethods(heldDeliveries, {
      async enter(...args: Parameters<HeldDeliveries['enter']>) {
        await work.pause('its entry');
        hold.hasHeld = true;
        return await heldDeliveries.enter(...args);
      },
    }),
    deliveryStore: withMethods(deliveryStore, {
      readWithLength: (...args: Parameters<DeliveryStore['readWithLength']>) =>
        turns.take(async () => {
          await work.pause('a second look at its log');
          return await deliveryStore.readWithLength(...args);
        }),
      readWithAttempt: (...args: Parameters<DeliveryStore['readWithAttempt']>) =>
        turns.take(async () => {
          await work.pause('a look for its lane');
          return await deliveryStore.readWithAttempt(...args);
        }),
    }),
    attemptStore: fake<AttemptStore>({
      record: (attempt) =>
        buildGuard(async () => {
          await work.pause('its record');
          const effect = await attemptStore.record(attempt)(redis);
          isRecorded = effect !== undefined;
          if (effect) await work.pause('what follows');
          return effect;
        }),
      recordOthers: (records) =>
        buildGuard(async () => {
          await work.pause('the records of the others');
          const changed = await attemptStore.recordOthers(records)(redis);
          isRecorded = changed.length === 0;
          if (isRecorded) await work.pause('what follows');
          return changed;
        }),
    }),
    atomic: buildAtomicOf((steps) =>
      turns.take(async () => {
        isRecorded = true;
        return await atomic.tried(steps);
      }),
    ),
    transport: async (request) => {
      run.sends = eventsOf(request).map(events.indexOf);
      await events.onRequest(run);
      return (await work.pause(SENDING)) as SendResult;
    },
    batchSizes: new BatchSizes(),
    healthRecorder: fake<HealthRecorder>({ record: () => {} }),
    operationalEvents: fake<OperationalEvents>({ raise: () => {} }),
    workerId: 'model',
    retrySchedule: RETRY_SCHEDULE,
    requestStyle: { userAgent: 'model', signatureHeader: { name: 'webhook-signature', prefix: '' } },
  };
}

function eventsOf({ headers, body }: DeliveryRequest): readonly string[] {
  const content = JSON.parse(body) as { readonly type: string; readonly data: unknown };
  return content.type === 'batch'
    ? (content.data as { readonly id: string }[]).map(({ id }) => id)
    : [headers['webhook-id'] ?? ''];
}

/** As the product's: apps/worker/src/consumers/bullmq-delivery-batch.ts. Those that run elsewhere are not waited for. */
class ModelBatch implements DeliveryBatch {
  #recorded: readonly string[] = [];
  #isNew = false;

  constructor(
    private readonly lane: ModelLane,
    private readonly run: ModelRun,
    private readonly events: RunEvents,
  ) {}

  async take(address: EndpointAddress, wanted: WantedBatch): Promise<readonly DeliveryRun[] | undefined> {
    const { lane, run, events } = this;
    await run.work.pause('the others of its batch');
    const primary = parseDeliveryId(run.jobId)?.eventId;
    if (primary === undefined) return [];
    const token = `${run.token}:others`;
    const all = { ...wanted, formsBatch: true };
    const taken = await lane.batchJobs.take(address, primary, token, all)(lane.redis);
    const { sentBefore, busy, jobs } = taken;
    this.#isNew = sentBefore.length === 0 && busy.length === 0;
    this.#recorded = this.#isNew ? [primary, ...jobs.map(({ eventId }) => eventId)] : sentBefore;
    run.others = jobs.map(({ id, eventId }) => ({ jobId: id, token, of: events.indexOf(eventId) }));
    await run.work.pause('what it has taken');
    const own = new Set<string>(jobs.map(({ eventId }) => eventId));
    const isComplete = sentBefore.length === 0 || busy.every((event) => own.has(event));
    return isComplete ? jobs.map((job) => this.#read(job)) : undefined;
  }

  async isTakenByAnother(endpointId: EndpointId, event: EventId): Promise<boolean> {
    return await this.lane.batchJobs.isTakenByAnother(endpointId, event)(this.lane.redis);
  }

  keepTogether(endpointId: EndpointId, events: readonly EventId[]): readonly Step[] {
    const primary = parseDeliveryId(this.run.jobId)?.eventId;
    if (events.length === 0) {
      return this.#isNew && primary ? [this.lane.batchJobs.dissolve(endpointId, primary)] : [];
    }
    const recorded = this.#recorded;
    const isRecorded = events.length === recorded.length && events.every((event) => recorded.includes(event));
    return isRecorded ? [] : [this.lane.batchJobs.keepTogether(endpointId, events)];
  }

  // The run itself ends by its result.
  stepsToEnd(events: readonly EventId[], end: JobEnd): readonly Step[] {
    const ended = new Set(events.map(this.events.indexOf));
    return this.run.others.filter(({ of }) => ended.has(of)).map((job) => this.#end(job, end));
  }

  async giveBack(): Promise<void> {
    if (this.run.others.length > 0) await this.run.work.pause('what it gives back');
    const steps = this.run.others.map((job) => this.#end(job, { kind: 'delayed', delayMs: 0 }));
    for (const step of steps) await atomicOneByOne(this.lane.redis)([step]);
  }

  #read({ id: jobId, data, attemptsStarted, stalledCounter }: TakenBatchJob): DeliveryRun {
    const other = this.run.others.find((each) => each.jobId === jobId);
    const job = { jobId, data: JSON.parse(data) as unknown, attemptsStarted, stalledCounter };
    return readRun(this.run, job, { stepsToEnd: (end) => (other ? [this.#end(other, end)] : []) });
  }

  #end(job: ModelBatchJob, end: JobEnd): Step {
    return async (target) => {
      const isDelayed = end.kind === 'delayed';
      this.events.onPutOff(job.of, isDelayed ? 'retry' : undefined);
      await this.lane.runningJobs.end([job], isDelayed ? { ...end, delayMs: PUT_OFF_MS } : end)(target);
      this.run.others = this.run.others.filter((other) => other !== job);
    };
  }
}

interface ReadJob {
  readonly jobId: string;
  readonly data: unknown;
  readonly attemptsStarted: number;
  readonly stalledCounter: number;
}

function readRun(run: ModelRun, job: ReadJob, more: Pick<DeliveryRun, 'batch' | 'stepsToEnd'>): DeliveryRun {
  const parts = parseDeliveryId(job.jobId);
  if (!parts) throw new Error(`${job.jobId} is no delivery's id.`);
  const data = deliveryJobSchema.parse(job.data);
  return {
    ...parts,
    accountId: data.account_id,
    request: decodeRequest(data),
    hasWaited: job.attemptsStarted > 1,
    wasTakenOver: job.stalledCounter > 0,
    ...more,
    // Its lock is never over before this.
    get ownedUntil() {
      return run.hasLostLock ? 0 : Number.POSITIVE_INFINITY;
    },
  };
}

/** Gives whether the run still owned the job. */
async function endRun(job: Job<DeliveryJob>, token: string, result: DeliverResult): Promise<boolean> {
  try {
    await endInBullmq(job, token, result);
    return true;
  } catch (error) {
    if (!NOT_OURS.includes((error as { readonly code?: unknown }).code)) throw error;
    return false;
  }
}

async function endInBullmq(job: Job<DeliveryJob>, token: string, result: DeliverResult): Promise<void> {
  switch (result.kind) {
    case 'done':
      await job.moveToCompleted(null, token, false);
      return;
    case 'retry':
      job.opts.backoff = { type: 'custom' };
      await job.moveToFailed(new Error(result.reason), token, false);
      return;
    case 'later':
      await job.moveToDelayed(Date.now() + PUT_OFF_MS, token);
      return;
    case 'interrupted':
      await job.moveToWait(token);
  }
}

function putOffOf({ kind }: DeliverResult, hasHeld: boolean): PutOff | undefined {
  if (kind === 'retry') return 'retry';
  if (kind === 'later') return hasHeld ? 'held' : 'retry';
  return undefined;
}
