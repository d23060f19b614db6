import type { AcceptedEvent } from '../model/event';
import type { BeginSpan, Span } from '../model/trace';

/** An event on its way further. */
export interface TracedEvent {
  readonly event: AcceptedEvent;
  /** Absent where traces are not wanted. */
  readonly span?: Span;
}

/** Begins a step of an event's way. What comes after it is, in the event's trace, below it. */
export function traceEvent(event: AcceptedEvent, beginSpan: BeginSpan, startedAt: number): TracedEvent {
  const span = beginSpan({ parent: event.trace, startedAt });
  return { event: { ...event, trace: span.context }, span };
}
