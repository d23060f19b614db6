import { z } from 'zod';
import type { AccountId } from '../domain/account';
import { announceEnd } from '../domain/announce-end';
import {
  type DeadLetter,
  type DeadLetterId,
  deadLetterQueues,
  type ListedDeadLetter,
} from '../domain/dead-letter';
import { type DeliveryParts, parseDeliveryId } from '../domain/delivery';
import { DELIVERIES_QUEUE, REPLAYS_QUEUE } from '../domain/queues';
import { replayIdSchema } from '../domain/replay';
import type { AdmissionStore } from '../endpoints/flow/redis-admission-store';
import type { DeliveryStore } from '../events/redis-delivery-store';
import { AppError } from '../platform/app-error';
import { formatTime, timeSchema } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
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

export interface RedriveContext extends Pick<EndReplayContext, 'emit'> {
  readonly deadLetterStore: Pick<DeadLetterStore, 'find' | 'claim' | 'putBack'>;
}

/**
 * Put a dead letter back onto its queue, whichever account it belongs to. One that fails again is a dead letter again, a new
 * one.
 *
 * @throws AppError `not_found`, `conflict`.
 */
export async function redriveDeadLetter(context: RedriveContext, id: DeadLetterId): Promise<void> {
  const { deadLetterStore, emit } = context;
  const { queue, jobId } = await readDeadLetter(context, id);
  await claim(deadLetterStore, id, 'redrive');
  if (!(await deadLetterStore.putBack(id))) throw deadLetterNotFound();
  emit({ name: 'dead_letter.redriven', queue, jobId });
}

export interface DropContext extends EndReplayContext {
  readonly deadLetterStore: Pick<DeadLetterStore, 'find' | 'claim' | 'remove'>;
  readonly deliveryStore: Pick<DeliveryStore, 'find' | 'append'>;
  readonly admissionStore: Pick<AdmissionStore, 'leaveOrder'>;
  readonly heldDeliveries: Pick<HeldDeliveries, 'askForWakeUp'>;
}

/**
 * Drop a dead letter, whichever account it belongs to. Its delivery or replay, if it is the job of one, ends as cancelled:
 * first, so that it is found and can be dropped again when this breaks off.
 *
 * @throws AppError `not_found`, `conflict`.
 */
export async function dropDeadLetter(context: DropContext, id: DeadLetterId): Promise<void> {
  const { deadLetterStore, emit } = context;
  const deadLetter = await readDeadLetter(context, id);
  await claim(deadLetterStore, id, 'drop');
  await endWorkOf(context, deadLetter);
  if (!(await deadLetterStore.remove(id))) throw deadLetterNotFound();
  emit({ name: 'dead_letter.dropped', queue: deadLetter.queue, jobId: deadLetter.jobId });
}

const TAKEN: Readonly<Record<DeadLetterAct, string>> = {
  redrive: 'This dead letter is being dropped. If that broke off, drop it once more.',
  drop: 'This dead letter is being put back. If that broke off, put it back once more.',
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

// What nothing works on any more must not look as if it were on its way.
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
 * End a delivery that nothing works on any more, and make room for the one behind it if they go in order. One that has
 * ended, or that there is not, stays as it is. Doing it again is harmless.
 */
async function cancelDelivery(
  context: DropContext,
  accountId: AccountId | undefined,
  delivery: DeliveryParts,
  reason: string,
): Promise<void> {
  const { deliveryStore, admissionStore, heldDeliveries, clock } = context;
  const { eventId, endpointId } = delivery;
  const listed = await deliveryStore.find(delivery);
  if (listed?.isOpen) {
    await deliveryStore.append(delivery, { kind: 'cancelled', reason });
    const begunAt = listed.round.requestedAt ?? listed.createdAt;
    announceEnd(context, { ...delivery, accountId }, 'cancelled', begunAt);
  }
  await admissionStore.leaveOrder(endpointId, eventId);
  // Not for a delivery that nobody has made: by the wrong account, its endpoint would look as if it were deleted.
  if (listed && accountId !== undefined) {
    await heldDeliveries.askForWakeUp({ accountId, endpointId }, clock());
  }
}

function deadLetterNotFound(): AppError {
  return new AppError('not_found', 'There is no dead letter with this id.');
}

export const listedDeadLetterSchema = z
  .object({
    id: z.string().meta({ example: 'events-dead-letters.1767225600000-17' }),
    queue: z.enum(deadLetterQueues),
    name: z.string(),
    account_id: z.string().nullable(),
    reason: z.string(),
    failed_at: timeSchema,
    attempts_made: z.int(),
  })
  .meta({ id: 'ListedDeadLetter' });
export type ListedDeadLetterView = z.infer<typeof listedDeadLetterSchema>;

export const deadLetterSchema = listedDeadLetterSchema
  .extend({ data: z.unknown() })
  .meta({ id: 'DeadLetter' });

/** A dead letter as it stands in a list: without its data. */
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

/** A dead letter read alone, as JSON text: its data may be nested too deeply to be written again once it was parsed. */
export function presentDeadLetter(deadLetter: DeadLetter): string {
  const { dataText } = deadLetter;
  const data = parsedOrUndefined(dataText) === undefined ? JSON.stringify(dataText) : dataText;
  return `${JSON.stringify(presentListedDeadLetter(deadLetter)).slice(0, -1)},"data":${data}}`;
}
