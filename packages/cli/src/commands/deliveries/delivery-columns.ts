import { paintStatus } from '../../output/colours';
import type { Column } from '../../output/output';
import type { Attempt, Delivery } from '../../resources';

/** Of those in lists and of those that are read alone. */
export const DELIVERY_COLUMNS: readonly Column<Omit<Delivery, 'matching_attempts'>>[] = [
  ['id', ({ id }) => id],
  ['type', ({ event_type }) => event_type],
  ['status', ({ status }) => status, paintStatus],
  ['attempts', ({ attempt_count }) => attempt_count],
  ['last outcome', ({ last_outcome }) => last_outcome],
  ['response', ({ last_response_status }) => last_response_status],
  ['next attempt', ({ next_attempt_at }) => next_attempt_at],
  ['held because', ({ hold }) => hold?.reason],
  ['created', ({ created_at }) => created_at],
];

/** With the webhook in ids by the uid that it was asked by, if it was: every command takes an id like that. */
export function deliveryColumns(webhook: string | undefined): typeof DELIVERY_COLUMNS {
  if (webhook === undefined || webhook.startsWith('wh_')) return DELIVERY_COLUMNS;
  return [['id', ({ event_id }) => `${event_id}.${webhook}`], ...DELIVERY_COLUMNS.slice(1)];
}

export const ATTEMPT_COLUMNS: readonly Column<Attempt>[] = [
  ['#', ({ number }) => number],
  ['started', ({ started_at }) => started_at],
  ['outcome', ({ outcome }) => outcome, paintStatus],
  ['response', ({ response_status }) => response_status],
  ['ms', ({ duration_ms }) => Math.round(duration_ms)],
  ['trigger', ({ trigger }) => trigger],
  ['address', ({ remote_address }) => remote_address],
  ['error', ({ error }) => error],
];
