import { z } from 'zod';
import { formatTime, timeSchema } from '../kernel/clock';
import { parsedOrUndefined } from '../kernel/json';
import { type DeadLetter, deadLetterQueues, type ListedDeadLetter } from '../model/dead-letter';

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
