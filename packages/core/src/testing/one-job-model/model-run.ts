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
import { type DeliveryRun, parseDeliveryId } from '../../domain/delivery';
import type { SendResult } from '../../domain/transport';
import type { HealthRecorder } from '../../endpoints/health/health-recorder';
import type { OperationalEvents } from '../../endpoints/operational-events';
import { TransformationStore } from '../../endpoints/redis-transformation-store';
import { SigningKeyStore } from '../../endpoints/signing-keys/redis-signing-key-store';
import type { DeliveryStore } from '../../events/redis-delivery-store';
import { Turns } from '../../platform/batches';
import type { HeldDeliveries } from '../../queue/bullmq-held-deliveries';
import { type DeliveryJob, decodeRequest, deliveryJobSchema } from '../../queue/delivery-job';
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
  /** Whether it lost its lock: its process was stopped for so long, and knows by its own clock. */
  hasLostLock: boolean;
  /** Its permit at the endpoint. */
  permit: Permit | undefined;
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
  const result = await deliver(parts, readRun(run, job), new AbortController().signal);
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
    }),
    atomic: buildAtomicOf((steps) =>
      turns.take(async () => {
        isRecorded = true;
        return await atomic.tried(steps);
      }),
    ),
    transport: async () => {
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

function readRun(
  run: ModelRun,
  { id = '', data: stored, attemptsStarted, stalledCounter }: Job<DeliveryJob>,
): DeliveryRun {
  const parts = parseDeliveryId(id);
  if (!parts) throw new Error(`${id} is no delivery's id.`);
  const data = deliveryJobSchema.parse(stored);
  return {
    ...parts,
    accountId: data.account_id,
    request: decodeRequest(data),
    hasWaited: attemptsStarted > 1,
    wasTakenOver: stalledCounter > 0,
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
