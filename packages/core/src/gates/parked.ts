import type { EventId } from '../events/event';

/** A delivery that waits at its endpoint's gate. */
export interface Parked {
  readonly eventId: EventId;
  /** Which of a delivery's two job ids its release uses: the one that the job which was parked does not have. */
  readonly side: JobSide;
}

export const jobSides = ['first', 'second'] as const;
export type JobSide = (typeof jobSides)[number];

export function otherSide(side: JobSide): JobSide {
  return side === 'first' ? 'second' : 'first';
}

const SEPARATOR = ' ';

/** Begins with the event's id, so that deliveries of the same moment sort by it. */
export function encodeParked({ eventId, side }: Parked): string {
  return `${eventId}${SEPARATOR}${side}`;
}

export function decodeParked(text: string): Parked {
  const [eventId = '', side] = text.split(SEPARATOR);
  return { eventId: eventId as EventId, side: side === 'second' ? 'second' : 'first' };
}
