import type { EventType } from '../../api/event-type-queries';

export const EVERY_EVENT = '*';

/** Event types whose names begin alike. */
export interface EventGroup {
  /** The filter for all of them, also for types added later; undefined for operational types. */
  readonly filter: string | undefined;
  readonly types: readonly EventType[];
}

/** The catalogue as it is chosen from: by the first word of the names; what the service itself raises comes last. */
export function groupsOf(types: readonly EventType[]): readonly EventGroup[] {
  const groups = new Map<string, EventType[]>();
  const operational = types.filter(({ origin }) => origin === 'operational');
  for (const type of types) {
    if (type.origin === 'operational') continue;
    const filter = `${type.name.split('.')[0]}.*`;
    groups.set(filter, [...(groups.get(filter) ?? []), type]);
  }
  return [
    ...[...groups].map(([filter, members]) => ({ filter, types: members })),
    ...(operational.length > 0 ? [{ filter: undefined, types: operational }] : []),
  ];
}

/** The filters after one was ticked or not: what a wider one asks for is not named beside it. */
export function withChoice(filters: readonly string[], filter: string, isChosen: boolean): readonly string[] {
  const others = filters.filter((each) => each !== filter);
  if (!isChosen) return others;
  return [...others.filter((each) => !isWithin(each, filter)), filter];
}

export function isWithin(name: string, filter: string): boolean {
  return filter.endsWith('.*') && name.startsWith(filter.slice(0, -1));
}

/** Whether events of a type go to a webhook with this filter. */
export function isSubscribed({ name, origin }: EventType, filter: string): boolean {
  if (filter === EVERY_EVENT) return origin !== 'operational';
  return filter === name || isWithin(name, filter);
}
