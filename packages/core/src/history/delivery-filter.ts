import type { TimeRange } from '../kernel/redis-timeline';
import type { AttemptOutcome } from '../model/attempt';
import { endStatuses } from '../model/delivery-log';

/** A delivery's status as clients see it. `held`: pending, and waiting at its endpoint's gate. */
export const shownStatuses = ['pending', 'held', ...endStatuses] as const;
export type ShownStatus = (typeof shownStatuses)[number];

/** What the last attempt was answered with. `none`: with nothing, or there was no attempt yet. */
export const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'] as const;
export type StatusClass = (typeof statusClasses)[number];

/** What a delivery must be to be listed, as far as its own record tells. */
export interface RecordFilter {
  readonly status?: ShownStatus | undefined;
  readonly statusClass?: StatusClass | undefined;
  /** What its last attempt was answered with. */
  readonly responseStatus?: number | undefined;
  /** What came of its last attempt. */
  readonly outcome?: AttemptOutcome | undefined;
}

/** What a delivery must be to be listed. */
export interface DeliveryFilter extends RecordFilter, TimeRange {
  readonly eventType?: string | undefined;
}

interface FilteredDelivery {
  readonly status: ShownStatus;
  readonly lastResponseStatus: number | undefined;
  readonly lastOutcome: AttemptOutcome | undefined;
}

/** Whether a delivery is what a filter says, as far as its own record tells. */
export function matchesFilter(
  { status, lastResponseStatus, lastOutcome }: FilteredDelivery,
  filter: RecordFilter,
): boolean {
  if (filter.status !== undefined && filter.status !== status) return false;
  if (filter.outcome !== undefined && filter.outcome !== lastOutcome) return false;
  if (filter.responseStatus !== undefined && filter.responseStatus !== lastResponseStatus) return false;
  return filter.statusClass === undefined || filter.statusClass === classOf(lastResponseStatus);
}

/** Whether an event's deliveries may be among those that a filter asks for. */
export function matchesEvent(
  { type, acceptedAt }: { readonly type: string; readonly acceptedAt: number },
  { eventType, since = -Infinity, until = Infinity }: DeliveryFilter,
): boolean {
  if (eventType !== undefined && eventType !== type) return false;
  return since <= acceptedAt && acceptedAt < until;
}

function classOf(responseStatus: number | undefined): string {
  return responseStatus === undefined ? 'none' : `${Math.floor(responseStatus / 100)}xx`;
}
