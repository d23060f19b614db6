import type { TimeRange } from '../redis/redis-timeline';
import type { Attempt } from './attempt';
import { endStatuses } from './delivery-log';

/** A delivery's status as clients see it. `held`: pending, and waiting at its endpoint's gate. */
export const shownStatuses = ['pending', 'held', ...endStatuses] as const;
export type ShownStatus = (typeof shownStatuses)[number];

/** What the last attempt was answered with. `none`: with nothing, or there was no attempt yet. */
export const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'] as const;
export type StatusClass = (typeof statusClasses)[number];

/** What a delivery must be to be listed. */
export interface DeliveryFilter extends TimeRange {
  readonly status?: ShownStatus | undefined;
  readonly eventType?: string | undefined;
  readonly statusClass?: StatusClass | undefined;
}

export function isOfClass(attempts: readonly Attempt[], statusClass: StatusClass): boolean {
  const status = attempts.at(-1)?.responseStatus;
  return status === undefined ? statusClass === 'none' : `${Math.floor(status / 100)}xx` === statusClass;
}
