import type { CancelDelivery } from '../deliveries/cancel-delivery';
import { AppError } from '../errors/app-error';
import { parseDeliveryJobId } from '../queue/delivery-job';
import { DELIVERIES_QUEUE, REPLAYS_QUEUE, SLOW_DELIVERIES_QUEUE } from '../queue/queue-names';
import type { CancelReplay } from '../replays/cancel-replay';
import { replayIdSchema } from '../replays/replay';
import type { Emit } from '../signals/signals';
import { accountOf, type DeadLetter, type DeadLetterId, type DeadLetterQueue } from './dead-letter';

/** The last dead letter of a page. */
export interface DeadLetterMark {
  readonly failedAt: number;
  readonly id: DeadLetterId;
}

export interface DeadLetterPage {
  /** Newest first. */
  readonly deadLetters: readonly DeadLetter[];
  readonly nextCursor: DeadLetterMark | undefined;
}

export interface DeadLetterStore {
  /** @param queue only those that came from it. */
  list(queue: DeadLetterQueue | undefined, limit: number, before?: DeadLetterMark): Promise<DeadLetterPage>;
  find(id: DeadLetterId): Promise<DeadLetter | undefined>;
  /** Puts it back onto its queue, to run as if it never had. Whether it was there. */
  putBack(id: DeadLetterId): Promise<boolean>;
  /** Whether it was there. */
  remove(id: DeadLetterId): Promise<boolean>;
}

export interface ManageDeadLettersDeps {
  readonly deadLetterStore: DeadLetterStore;
  readonly cancelDelivery: CancelDelivery;
  readonly cancelReplay: CancelReplay;
  readonly emit: Emit;
}

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
    const { queue, jobId } = deadLetter;
    if (queue === DELIVERIES_QUEUE || queue === SLOW_DELIVERIES_QUEUE) {
      const delivery = parseDeliveryJobId(jobId);
      if (delivery) await cancelDelivery(accountOf(deadLetter), delivery, 'dropped');
    } else if (queue === REPLAYS_QUEUE) {
      const replayId = replayIdSchema.safeParse(jobId).data;
      if (replayId !== undefined) await cancelReplay(replayId);
    }
  }

  return {
    list: deadLetterStore.list,
    read,

    /** One that fails again is a dead letter again, a new one. @throws AppError `not_found`. */
    async redrive(id: DeadLetterId): Promise<void> {
      const { queue, jobId } = await read(id);
      if (!(await deadLetterStore.putBack(id))) throw deadLetterNotFound();
      emit({ name: 'dead_letter.redriven', queue, jobId });
    },

    /**
     * Its delivery or replay, if it is the job of one, ends as cancelled: first, so that it is found and can be dropped
     * again when this breaks off.
     *
     * @throws AppError `not_found`.
     */
    async drop(id: DeadLetterId): Promise<void> {
      const deadLetter = await read(id);
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
