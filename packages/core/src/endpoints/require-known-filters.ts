import { invalidRequest } from '../errors/invalid-request';
import { shorten } from '../errors/shorten';
import { eventTypeNames } from '../events/catalogue/index';
import { listNames } from '../events/list-names';
import type { EventTypeStore } from '../events/redis-event-type-store';
import { isKnownFilter } from './event-filter';

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
