import type { DeliveryFilters } from '../../api/delivery-queries';
import type { LiveMessage } from '../../live/live-message';

type DeliveryMessage = Extract<LiveMessage, { kind: 'delivery' }>;

/** Whether a change may have made a delivery one of those that a list is asked for. It is read again before it is shown. */
export function isNews({ change, delivery }: DeliveryMessage, filters: DeliveryFilters): boolean {
  const wanted = [
    [filters.webhook_id, delivery.webhook_id],
    [filters.event_id, delivery.event_id],
    [filters.event_type, delivery.type],
    [filters.status, delivery.status],
    [filters.outcome, delivery.last_outcome],
    [filters.response_status, delivery.last_response_status],
  ];
  // No change tells the data. The list is looked at from time to time.
  if (filters.data !== undefined) return false;
  // What a change does not know can't speak against it.
  if (wanted.some(([asked, known]) => asked !== undefined && known !== undefined && asked !== known)) {
    return false;
  }
  if (filters.until !== undefined && new Date(filters.until) < new Date()) return false;
  return change === 'created' || dependsOnResult(filters);
}

/** Whether a delivery can come into the list after it was made. */
function dependsOnResult(filters: DeliveryFilters): boolean {
  const { status, outcome, response_status: exact, status_class: rough } = filters;
  return [status, outcome, exact, rough].some((filter) => filter !== undefined);
}
