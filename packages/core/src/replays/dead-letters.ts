import { z } from 'zod';
import type { AuditLog } from '../accounts/audit/redis-audit-log';
import { type AccountId, DEFAULT_ACCOUNT } from '../domain/account';
import { announceEnd } from '../domain/announce-end';
import type { Act } from '../domain/audit';
import {
  type DeadLetter,
  type DeadLetterId,
  type DeadLetterQueue,
  deadLetterQueues,
  type ListedDeadLetter,
  parseDeadLetterId,
} from '../domain/dead-letter';
import { type DeliveryParts, parseDeliveryId, parseLaneJobId } from '../domain/delivery';
import { DELIVERIES_QUEUE, REPLAYS_QUEUE } from '../domain/queues';
import { replayIdSchema } from '../domain/replay';
import type { Emit } from '../domain/signal';
import type { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EndedList } from '../events/redis-ended-list';
import { AppError } from '../platform/app-error';
import { type Clock, formatTime, timeSchema } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import type { Atomic } from '../platform/redis-atomic';
import type {
  DeadLetterAct,
  DeadLetterMark,
  DeadLetterPage,
  DeadLetterStore,
} from '../queue/bullmq-dead-letter-store';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import type { Replays } from './replays';

export interface DeadLettersParts {
  readonly deadLetterStore: DeadLetterStore;
  readonly deliveryStore: DeliveryStore;
  readonly besideLanes: BesideLanes;
  readonly heldDeliveries: HeldDeliveries;
  readonly replays: Replays;
  /** Absent: there is no history. */
  readonly endedList?: EndedList | undefined;
  readonly auditLog: AuditLog;
  /** It runs scripts on the Redis of these stores. */
  readonly atomic: Atomic;
  readonly clock: Clock;
  readonly emit: Emit;
}

const TAKEN: Readonly<Record<DeadLetterAct, string>> = {
  retry: 'This dead letter is being dropped. If that request failed, drop it again.',
  drop: 'This dead letter is being retried. If that request failed, retry it again.',
};

const OF_MANY = 'This job sends all deliveries that wait at a webhook. Retry it.';

/** Jobs of any account that are invalid, or failed for good. */
export class DeadLetters {
  constructor(private readonly parts: DeadLettersParts) {}

  /** The newest first. @param queue `undefined`: those of all queues. */
  async list(
    queue: DeadLetterQueue | undefined,
    limit: number,
    before?: DeadLetterMark,
  ): Promise<DeadLetterPage> {
    return await this.parts.deadLetterStore.list(queue, limit, before);
  }

  /** @throws AppError `not_found`. */
  async read(id: DeadLetterId): Promise<DeadLetter> {
    const deadLetter = await this.parts.deadLetterStore.find(id);
    if (!deadLetter) throw deadLetterNotFound();
    return deadLetter;
  }

  /**
   * Retry it: put its job back onto its queue. If it fails again it becomes a new dead letter.
   *
   * @throws AppError `not_found`, `conflict`.
   */
  async retry(id: DeadLetterId, act?: Act): Promise<void> {
    const { deadLetterStore, emit } = this.parts;
    const { queue, jobId } = await this.#claim(id, 'retry', act);
    if (!(await deadLetterStore.putBack(id))) throw deadLetterNotFound();
    emit({ name: 'dead_letter.retried', queue, jobId });
  }

  /**
   * Drop it. If the job belongs to a delivery or replay, that ends as cancelled. It ends first: when this breaks
   * off, the dead letter is still there and can be dropped again.
   *
   * @throws AppError `not_found`, `conflict`.
   */
  async drop(id: DeadLetterId, act?: Act): Promise<void> {
    const { deadLetterStore, emit } = this.parts;
    if (parseLaneJobId(parseDeadLetterId(id).jobId)) throw new AppError('conflict', OF_MANY);
    const deadLetter = await this.#claim(id, 'drop', act);
    await this.#endWorkOf(deadLetter);
    if (!(await deadLetterStore.remove(id))) throw deadLetterNotFound();
    emit({ name: 'dead_letter.dropped', queue: deadLetter.queue, jobId: deadLetter.jobId });
  }

  /** On record before the first step: nothing else could put it there if the process died in between. */
  async #claim(id: DeadLetterId, act: DeadLetterAct, recorded: Act | undefined): Promise<DeadLetter> {
    const deadLetter = await this.read(id);
    const result = await this.parts.deadLetterStore.claim(id, act);
    if (result === 'gone') throw deadLetterNotFound();
    if (result === 'taken') throw new AppError('conflict', TAKEN[act]);
    if (recorded) {
      await this.parts.auditLog.record({ act: recorded, accountId: DEFAULT_ACCOUNT, targetId: id });
    }
    return deadLetter;
  }

  // A delivery or replay without a job must not look as if it were in progress.
  async #endWorkOf({ queue, jobId, accountId }: DeadLetter): Promise<void> {
    if (queue === DELIVERIES_QUEUE) {
      const delivery = parseDeliveryId(jobId);
      if (delivery) await this.#cancelDelivery(accountId, delivery);
    } else if (queue === REPLAYS_QUEUE) {
      const replayId = replayIdSchema.safeParse(jobId).data;
      if (replayId !== undefined) await this.parts.replays.end(replayId);
    }
  }

  /**
   * End a delivery that has no job any more, and make room for the next one in order. A delivery that has
   * ended, or does not exist, stays as it is. Repeating it is harmless.
   */
  async #cancelDelivery(accountId: AccountId | undefined, delivery: DeliveryParts): Promise<void> {
    const { deliveryStore, besideLanes, atomic, endedList, heldDeliveries, clock } = this.parts;
    const { eventId, endpointId } = delivery;
    const listed = await deliveryStore.find(delivery);
    if (listed && (await this.#cancelRound(delivery, listed.round.number))) {
      const begunAt = listed.round.requestedAt ?? listed.createdAt;
      announceEnd(this.parts, { ...delivery, accountId }, 'cancelled', begunAt);
    }
    await atomic([besideLanes.leave(endpointId, eventId)]);
    // Skip a delivery that does not exist: with the wrong account, its endpoint would look deleted.
    if (listed && accountId !== undefined) {
      await endedList?.add({ ...delivery, accountId }, clock());
      await heldDeliveries.askForWakeUp({ accountId, endpointId }, clock());
    }
  }

  // A client may have requested it again meanwhile: that is sent.
  async #cancelRound(delivery: DeliveryParts, roundNumber: number): Promise<boolean> {
    const { deliveryStore } = this.parts;
    const { state, length } = await deliveryStore.readWithLength(delivery.endpointId, delivery.eventId);
    if (!state.isOpen || state.round.number !== roundNumber) return false;
    const fact = { kind: 'cancelled', reason: 'dropped' } as const;
    if (await deliveryStore.appendIfUnchanged(delivery, fact, length)) return true;
    return await this.#cancelRound(delivery, roundNumber);
  }
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
