import type { components } from '@hookferry/client';

type Event = components['schemas']['Event'];

export interface ShownEvent {
  readonly event: Event;
  /** Its data, character by character as it was published. */
  readonly dataText: string;
}

/** The API writes the data last, as it was published. */
const DATA = ',"data":';

/** @param text what the API answers for an event */
export function readEvent(text: string): ShownEvent {
  const begin = text.indexOf(DATA) + DATA.length;
  return { event: JSON.parse(text) as Event, dataText: text.slice(begin, text.lastIndexOf('}')) };
}
