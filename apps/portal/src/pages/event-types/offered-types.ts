import { type EventType, useEventTypes } from '../../api/event-type-queries';
import { useCan } from '../../session/session-context';
import { isSubscribed } from '../webhook-form/event-choice';

/** The event types that the viewer may choose from. @param filters of the webhook that it is about, if it is about one. */
export function useOfferedTypes(filters: readonly string[] = []) {
  const isOperator = useCan('operate');
  const { data, ...query } = useEventTypes();
  return { ...query, data: data && (isOperator ? data : offeredTypes(data, filters)) };
}

/**
 * Those that a customer can get. Built-in ones are there to try things out: once the product has types of its own, no customer is offered
 * them, unless a filter names them. The filter of all types does not.
 */
export function offeredTypes(types: readonly EventType[], filters: readonly string[]): readonly EventType[] {
  if (!types.some(({ origin }) => origin === 'custom')) return types;
  const named = filters.filter((filter) => filter !== '*');
  return types.filter(
    (type) => type.origin !== 'built_in' || named.some((filter) => isSubscribed(type, filter)),
  );
}
