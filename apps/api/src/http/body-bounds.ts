import type { Route } from './route';

/** How much a body may hold. */
export interface BodyBounds {
  readonly maxBytes: number;
  /** Values at all depths together. */
  readonly maxValues: number;
  /** Whether there need be none. */
  readonly mayBeEmpty: boolean;
}

// What is described by its members, such as a webhook, has a few hundred. To check as many that are wrong takes 0.1 s.
const MAX_VALUES = 10_000;

// Where events are published. To parse as many takes 0.1 s at worst, as objects that are all different; 5 MiB of those would
// take a second.
const MAX_EVENT_VALUES = 150_000;
// Where MAX_EVENT_BYTES is raised: more than digits and commas can make of that.
const MAX_EVENT_VALUES_PER_BYTE = 9 / 16;

/** @param maxEventBodyBytes the longest body that one event may come in. */
export function boundsOf(
  { maxBodyBytes, request }: Pick<Route, 'maxBodyBytes' | 'request'>,
  maxEventBodyBytes: number,
): BodyBounds {
  const maxValues = request.hasEventData
    ? Math.max(MAX_EVENT_VALUES, Math.ceil(maxEventBodyBytes * MAX_EVENT_VALUES_PER_BYTE))
    : MAX_VALUES;
  return {
    maxBytes: maxBodyBytes ?? maxEventBodyBytes,
    maxValues,
    mayBeEmpty: request.mayLackBody === true,
  };
}
