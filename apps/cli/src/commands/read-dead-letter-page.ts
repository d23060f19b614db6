import type { DeadLetterQueue, ListedDeadLetter } from '@webhooks/core/model/dead-letter';
import type { DeadLetterMark, ManageDeadLetters } from '@webhooks/core/recovery/manage-dead-letters';
import type { ReadPage } from '../read-all-pages';

/** How the pages of dead letters are read: all, or those of a queue. */
export function readDeadLetterPage(
  deadLetters: ManageDeadLetters,
  queue: DeadLetterQueue | undefined,
): ReadPage<ListedDeadLetter, DeadLetterMark> {
  return async (limit, before) => {
    const page = await deadLetters.list(queue, limit, before);
    return [page.deadLetters, page.nextCursor];
  };
}
