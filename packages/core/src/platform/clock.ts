import { z } from 'zod';

/** The present, in milliseconds since the Unix epoch. Passed in, so that tests control the time. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** For spans of time within one process: it counts from an arbitrary moment, and never jumps. */
export const steadyClock: Clock = () => performance.now();

/** The form of `formatTime`. */
export const timeSchema = z.string().meta({ format: 'date-time', example: '2030-01-31T12:00:00.000Z' });

/** A time from a client. Gives milliseconds since the Unix epoch. */
export const sentTimeSchema = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-11-21T12:00:00Z' })
  .transform((text) => Date.parse(text));

/** RFC 3339, UTC, with milliseconds: the form of every time in the API. */
export function formatTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The same for an optional time. */
export function formatTimeOrNull(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : formatTime(epochMs);
}
