import { eventTypeNames } from '../catalogue/built-in/index';
import { listNames } from '../catalogue/event-types';
import type { EventTypeStore } from '../catalogue/redis-event-type-store';
import { isKnownFilter } from '../endpoints/event-filter';
import { invalidRequest, shorten } from '../kernel/faults';

/**
 * Makes sure that there are event types that an endpoint asks for; types that operators added count as well.
 *
 * @throws AppError `invalid_request`, which names the filters that match none.
 */
export function createRequireKnownFilters(eventTypeStore: Pick<EventTypeStore, 'names'>) {
  return async function requireKnownFilters(filters: readonly string[]): Promise<void> {
    if (filters.every((filter) => isKnownFilter(filter, eventTypeNames))) return;
    const names = [...eventTypeNames, ...(await eventTypeStore.names()).toSorted()];
    const faults = filters.flatMap((filter, index) =>
      isKnownFilter(filter, names)
        ? []
        : [{ pointer: `/events/${index}`, detail: describeUnknown(filter, names) }],
    );
    if (faults.length > 0) throw invalidRequest(faults);
  };
}

export type RequireKnownFilters = ReturnType<typeof createRequireKnownFilters>;

function describeUnknown(filter: string, names: readonly string[]): string {
  return (
    `"${shorten(filter)}" is not a known event type; known are ${listNames(names)}, ` +
    'a prefix of them such as keyword.*, or * for all'
  );
}
