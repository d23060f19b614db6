import type { TimeRange } from '../kernel/redis-timeline';
import { endStatuses } from '../model/delivery-log';

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

/** Whether a delivery is what a filter says, as far as its own record tells. */
export function matchesFilter(
  { status, lastResponseStatus }: { status: ShownStatus; lastResponseStatus: number | undefined },
  filter: Pick<DeliveryFilter, 'status' | 'statusClass'>,
): boolean {
  if (filter.status !== undefined && filter.status !== status) return false;
  return filter.statusClass === undefined || filter.statusClass === classOf(lastResponseStatus);
}

function classOf(responseStatus: number | undefined): string {
  return responseStatus === undefined ? 'none' : `${Math.floor(responseStatus / 100)}xx`;
}
