import { t } from '@lingui/core/macro';
/** The ranges to choose from. */
export const RANGES: readonly (readonly [label: string, ms: number])[] = [
  [t`the last hour`, 3_600_000],
  [t`the last 24 hours`, 86_400_000],
  [t`the last 7 days`, 604_800_000],
];

/** A time as an `<input type="datetime-local">` has it: in the viewer's zone, to the minute. */
export function toLocalInput(time: Date): string {
  const padded = (value: number, length = 2) => String(value).padStart(length, '0');
  // A year that is still being typed begins with noughts; without them the input would be emptied.
  const day = [padded(time.getFullYear(), 4), padded(time.getMonth() + 1), padded(time.getDate())].join('-');
  return `${day}T${padded(time.getHours())}:${padded(time.getMinutes())}`;
}

/** Back to RFC 3339; undefined: it is no time. */
export function fromLocalInput(text: string): string | undefined {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}
