import { z } from 'zod';
import type { AuditLog } from '../accounts/audit/redis-audit-log';
import { type AccountId, DEFAULT_ACCOUNT } from '../domain/account';
import { announceEnd } from '../domain/announce-end';
import type { Act } from '../domain/audit';
import {
  type DeadLetter,
  type DeadLetterId,
  deadLetterQueues,
  type ListedDeadLetter,
} from '../domain/dead-letter';
import { type DeliveryParts, parseDeliveryId } from '../domain/delivery';
import { DELIVERIES_QUEUE, REPLAYS_QUEUE } from '../domain/queues';
import { replayIdSchema } from '../domain/replay';
import type { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { OverList } from '../events/redis-over-list';
import { AppError } from '../platform/app-error';
import { formatTime, timeSchema } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import type { Atomic } from '../platform/redis-atomic';
import type { DeadLetterAct, DeadLetterStore } from '../queue/bullmq-dead-letter-store';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { type EndReplayContext, endReplay } from './manage-replays';

/** @throws AppError `not_found`. */
export async function readDeadLetter(
  { deadLetterStore }: { readonly deadLetterStore: Pick<DeadLetterStore, 'find'> },
  id: DeadLetterId,
): Promise<DeadLetter> {
  const deadLetter = await deadLetterStore.find(id);
  if (!deadLetter) throw deadLetterNotFound();
  return deadLetter;
}

/** Each is recorded before its first step: nothing else could put it there if the process died in between. */
interface RecordContext {
  readonly auditLog?: Pick<AuditLog, 'record'>;
}

export interface RedriveContext extends RecordContext, Pick<EndReplayContext, 'emit'> {
  readonly deadLetterStore: Pick<DeadLetterStore, 'find' | 'claim' | 'putBack'>;
}

/**
 * Put a dead letter of any account back onto its queue. If it fails again it becomes a new dead letter.
 *
 * @throws AppError `not_found`, `conflict`.
 */
export async function redriveDeadLetter(context: RedriveContext, id: DeadLetterId, act?: Act): Promise<void> {
  const { deadLetterStore, emit } = context;
  const { queue, jobId } = await readDeadLetter(context, id);
  await claim(deadLetterStore, id, 'redrive');
  await record(context, id, act);
  if (!(await deadLetterStore.putBack(id))) throw deadLetterNotFound();
  emit({ name: 'dead_letter.redriven', queue, jobId });
}

export interface DropContext extends RecordContext, EndReplayContext {
  readonly deadLetterStore: Pick<DeadLetterStore, 'find' | 'claim' | 'remove'>;
  readonly deliveryStore: Pick<DeliveryStore, 'find' | 'readWithLength' | 'appendIfUnchanged'>;
  readonly admissionStore: Pick<AdmissionStore, 'leaveOrder'>;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  /** Absent: there is no history. */
  readonly overList?: Pick<OverList, 'add'> | undefined;
  readonly heldDeliveries: Pick<HeldDeliveries, 'askForWakeUp'>;
}

/**
 * Drop a dead letter of any account. If the job belongs to a delivery or replay, that ends as cancelled. It
 * ends first: when this breaks off, the dead letter is still there and can be dropped again.
 *
 * @throws AppError `not_found`, `conflict`.
 */
export async function dropDeadLetter(context: DropContext, id: DeadLetterId, act?: Act): Promise<void> {
  const { deadLetterStore, emit } = context;
  const deadLetter = await readDeadLetter(context, id);
  await claim(deadLetterStore, id, 'drop');
  await record(context, id, act);
  await endWorkOf(context, deadLetter);
  if (!(await deadLetterStore.remove(id))) throw deadLetterNotFound();
  emit({ name: 'dead_letter.dropped', queue: deadLetter.queue, jobId: deadLetter.jobId });
}

async function record(
  { auditLog }: RecordContext,
  targetId: DeadLetterId,
  act: Act | undefined,
): Promise<void> {
  if (act) await auditLog?.record({ act, accountId: DEFAULT_ACCOUNT, targetId });
}

const TAKEN: Readonly<Record<DeadLetterAct, string>> = {
  redrive: 'This dead letter is being dropped. If that request failed, drop it again.',
  drop: 'This dead letter is being redriven. If that request failed, redrive it again.',
};

async function claim(
  deadLetterStore: Pick<DeadLetterStore, 'claim'>,
  id: DeadLetterId,
  act: DeadLetterAct,
): Promise<void> {
  const result = await deadLetterStore.claim(id, act);
  if (result === 'gone') throw deadLetterNotFound();
  if (result === 'taken') throw new AppError('conflict', TAKEN[act]);
}

// A delivery or replay without a job must not look as if it were in progress.
async function endWorkOf(context: DropContext, { queue, jobId, accountId }: DeadLetter): Promise<void> {
  if (queue === DELIVERIES_QUEUE) {
    const delivery = parseDeliveryId(jobId);
    if (delivery) await cancelDelivery(context, accountId, delivery, 'dropped');
  } else if (queue === REPLAYS_QUEUE) {
    const replayId = replayIdSchema.safeParse(jobId).data;
    if (replayId !== undefined) await endReplay(context, replayId);
  }
}

/**
 * End a delivery that has no job any more, and make room for the next one in order. A delivery that has
 * ended, or does not exist, stays as it is. Repeating it is harmless.
 */
async function cancelDelivery(
  context: DropContext,
  accountId: AccountId | undefined,
  delivery: DeliveryParts,
  reason: string,
): Promise<void> {
  const { deliveryStore, admissionStore, atomic, overList, heldDeliveries, clock } = context;
  const { eventId, endpointId } = delivery;
  const listed = await deliveryStore.find(delivery);
  if (listed && (await cancelRound(deliveryStore, delivery, listed.round.number, reason))) {
    const begunAt = listed.round.requestedAt ?? listed.createdAt;
    announceEnd(context, { ...delivery, accountId }, 'cancelled', begunAt);
  }
  await atomic([admissionStore.leaveOrder(endpointId, eventId)]);
  // Skip a delivery that does not exist: with the wrong account, its endpoint would look deleted.
  if (listed && accountId !== undefined) {
    await overList?.add({ ...delivery, accountId }, clock());
    await heldDeliveries.askForWakeUp({ accountId, endpointId }, clock());
  }
}

// A client may have requested it again meanwhile: that is sent.
async function cancelRound(
  deliveryStore: DropContext['deliveryStore'],
  delivery: DeliveryParts,
  roundNumber: number,
  reason: string,
): Promise<boolean> {
  const { state, length } = await deliveryStore.readWithLength(delivery.endpointId, delivery.eventId);
  if (!state.isOpen || state.round.number !== roundNumber) return false;
  if (await deliveryStore.appendIfUnchanged(delivery, { kind: 'cancelled', reason }, length)) return true;
  return await cancelRound(deliveryStore, delivery, roundNumber, reason);
}

function deadLetterNotFound(): AppError {
  return new AppError('not_found', 'There is no dead letter with this id.');
}

export const listedDeadLetterSchema = z
  .object({
    id: z
      .string()
      .meta({ example: 'events-dead-letters.1767225600000-17' })
      .describe('The id of the dead letter.'),
    queue: z.enum(deadLetterQueues).describe('The queue of the job.'),
    name: z.string().describe('The name of the job. For an event: its type.'),
    account_id: z.string().nullable().describe('The account of the job. Null: the job names none.'),
    reason: z.string().describe('Why workers no longer take the job.'),
    failed_at: timeSchema.describe('When the job became a dead letter.'),
    attempts_made: z.int().describe('How many times workers tried the job.'),
  })
  .meta({ id: 'ListedDeadLetter' });
export type ListedDeadLetterView = z.infer<typeof listedDeadLetterSchema>;

export const deadLetterSchema = listedDeadLetterSchema
  .extend({ data: z.unknown().describe('The data of the job.') })
  .meta({ id: 'DeadLetter' });

/** A dead letter in a list: without its data. */
export function presentListedDeadLetter(deadLetter: ListedDeadLetter): ListedDeadLetterView {
  const { id, queue, name, accountId, reason, failedAt, attemptsMade } = deadLetter;
  return {
    id,
    queue,
    name,
    account_id: accountId ?? null,
    reason,
    failed_at: formatTime(failedAt),
    attempts_made: attemptsMade,
  };
}

/** A single dead letter as JSON text: its data may be nested too deeply to serialise again after parsing. */
export function presentDeadLetter(deadLetter: DeadLetter): string {
  const { dataText } = deadLetter;
  const data = parsedOrUndefined(dataText) === undefined ? JSON.stringify(dataText) : dataText;
  return `${JSON.stringify(presentListedDeadLetter(deadLetter)).slice(0, -1)},"data":${data}}`;
}
