/** The present, in milliseconds since the Unix epoch. Passed in, so that tests own the time. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

/** RFC 3339, UTC, with milliseconds: the form of every time in the API. */
export function formatTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
