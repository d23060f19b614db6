import { z } from 'zod';
import {
  type DeadLetter,
  type DeadLetterId,
  deadLetterQueues,
  type ListedDeadLetter,
} from '../domain/dead-letter';
import { parseDeliveryId } from '../domain/delivery';
import { DELIVERIES_QUEUE, REPLAYS_QUEUE } from '../domain/queues';
import { replayIdSchema } from '../domain/replay';
import type { Emit } from '../domain/signal';
import { AppError } from '../platform/app-error';
import { formatTime, timeSchema } from '../platform/clock';
import { parsedOrUndefined } from '../platform/json';
import type { DeadLetterAct, DeadLetterStore } from '../queue/bullmq-dead-letter-store';
import type { CancelDelivery } from './cancel-delivery';
import type { CancelReplay } from './manage-replays';

export interface ManageDeadLettersDeps {
  readonly deadLetterStore: Omit<DeadLetterStore, 'close'>;
  readonly cancelDelivery: CancelDelivery;
  readonly cancelReplay: CancelReplay;
  readonly emit: Emit;
}

const TAKEN: Readonly<Record<DeadLetterAct, string>> = {
  redrive: 'This dead letter is being dropped. If that broke off, drop it once more.',
  drop: 'This dead letter is being put back. If that broke off, put it back once more.',
};

/** What an operator can do with dead letters, whichever account they belong to. */
export function createManageDeadLetters(deps: ManageDeadLettersDeps) {
  const { deadLetterStore, cancelDelivery, cancelReplay, emit } = deps;

  /** @throws AppError `not_found`. */
  async function read(id: DeadLetterId): Promise<DeadLetter> {
    const deadLetter = await deadLetterStore.find(id);
    if (!deadLetter) throw deadLetterNotFound();
    return deadLetter;
  }

  // What nothing works on any more must not look as if it were on its way.
  async function endWorkOf(deadLetter: DeadLetter): Promise<void> {
    const { queue, jobId, accountId } = deadLetter;
    if (queue === DELIVERIES_QUEUE) {
      const delivery = parseDeliveryId(jobId);
      if (delivery) await cancelDelivery(accountId, delivery, 'dropped');
    } else if (queue === REPLAYS_QUEUE) {
      const replayId = replayIdSchema.safeParse(jobId).data;
      if (replayId !== undefined) await cancelReplay(replayId);
    }
  }

  async function claim(id: DeadLetterId, act: DeadLetterAct): Promise<void> {
    const answer = await deadLetterStore.claim(id, act);
    if (answer === 'gone') throw deadLetterNotFound();
    if (answer === 'taken') throw new AppError('conflict', TAKEN[act]);
  }

  return {
    list: deadLetterStore.list,
    read,

    /** One that fails again is a dead letter again, a new one. @throws AppError `not_found`, `conflict`. */
    async redrive(id: DeadLetterId): Promise<void> {
      const { queue, jobId } = await read(id);
      await claim(id, 'redrive');
      if (!(await deadLetterStore.putBack(id))) throw deadLetterNotFound();
      emit({ name: 'dead_letter.redriven', queue, jobId });
    },

    /**
     * Its delivery or replay, if it is the job of one, ends as cancelled: first, so that it is found and can be dropped
     * again when this breaks off.
     *
     * @throws AppError `not_found`, `conflict`.
     */
    async drop(id: DeadLetterId): Promise<void> {
      const deadLetter = await read(id);
      await claim(id, 'drop');
      await endWorkOf(deadLetter);
      if (!(await deadLetterStore.remove(id))) throw deadLetterNotFound();
      emit({ name: 'dead_letter.dropped', queue: deadLetter.queue, jobId: deadLetter.jobId });
    },
  };
}

export type ManageDeadLetters = ReturnType<typeof createManageDeadLetters>;

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
