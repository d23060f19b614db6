import type { DeliveryFilters } from '../../api/delivery-queries';
import type { LiveMessage } from '../../live/live-message';
import { isWanted } from './filters-in-url';

type DeliveryMessage = Extract<LiveMessage, { kind: 'delivery' }>;

/** True if a change may put a delivery into a list. The delivery is read again before it is shown. */
export function isNews({ change, delivery }: DeliveryMessage, filters: DeliveryFilters): boolean {
  const wanted = [
    [filters.webhook_id, delivery.webhook_id],
    [filters.event_id, delivery.event_id],
    [filters.event_type, delivery.event_type],
    [filters.status, delivery.status],
    [filters.outcome, delivery.last_outcome],
    [filters.response_status, delivery.last_response_status],
  ];
  // Changes have no data, so the list is read again from time to time.
  if (filters.data !== undefined) return false;
  // A member that the change lacks excludes nothing.
  if (wanted.some(([asked, known]) => asked !== undefined && known !== undefined && asked !== known)) {
    return false;
  }
  const ends = [filters.until, filters.attempted_until];
  if (ends.some((end) => end !== undefined && new Date(end) < new Date())) return false;
  const { attempt_outcome: ways } = filters;
  // The attempt that it was just told of is the last one.
  if (ways !== undefined && delivery.last_outcome && !isWanted(ways, delivery.last_outcome)) return false;
  return change === 'created' || dependsOnResult(filters);
}

/** True if a delivery may enter the list after its creation. */
function dependsOnResult(filters: DeliveryFilters): boolean {
  const { status, outcome, response_status: exact, status_class: rough } = filters;
  const { attempted_since: since, attempted_until: until, attempt_outcome: ways } = filters;
  return [status, outcome, exact, rough, since, until, ways].some((filter) => filter !== undefined);
}
