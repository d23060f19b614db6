import { type DeadLetterId, deadLetterIdSchema } from '@webhooks/core/model/dead-letter';
import { UsageError } from '../usage-error';

export const HOW_TO_LIST = 'See: webhooks dead-letters list';

/** @throws UsageError. */
export function parseDeadLetterId(given: unknown): DeadLetterId {
  const id = deadLetterIdSchema.safeParse(given).data;
  if (id === undefined) throw new UsageError('<id>: must be as it stands in: webhooks dead-letters list');
  return id;
}
