import { isOperational } from '../catalogue/built-in/index';

/** The filter that asks for everything that is published; what this service itself tells is asked for by name. */
export const EVERY_EVENT = '*';

/** For the descriptions of filters. What is of another form asks for nothing, and is refused as unknown. */
export const FILTER_FORM = {
  pattern: '^([*]|[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)*[.][*]|[a-z][a-z0-9_]*([.][a-z][a-z0-9_]*)+)$',
  maxLength: 102,
};

const PREFIX_END = '.*';

/** Whether an endpoint's filter (`*`, `keyword.*` or a whole name) asks for events of this type. */
export function matchesType(filter: string, type: string): boolean {
  if (filter === EVERY_EVENT) return !isOperational(type);
  if (filter === type) return true;
  return filter.endsWith(PREFIX_END) && type.startsWith(filter.slice(0, -1));
}

/** Whether a filter can match anything out of the catalogue; one that can't is a slip of the pen. */
export function isKnownFilter(filter: string, typeNames: readonly string[]): boolean {
  return typeNames.some((type) => matchesType(filter, type));
}
