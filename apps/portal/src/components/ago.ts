import { plural, t } from '@lingui/core/macro';
import { formatDate, formatDay } from '../language/formats';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Until then a time is told by how long ago it was, from then on by its date. */
const LONGEST_MS = 30 * DAY_MS;

/** Within a minute: a list in which each second is told is not quiet to look at. */
const FEW_SECONDS_MS = 10 * SECOND_MS;

/** `2 min ago`, `in 3 h`, `Oct 3`: whole units, cut and not rounded. Both times in milliseconds since the Unix epoch. */
export function agoText(at: number, now: number): string {
  const awayMs = Math.abs(now - at);
  if (awayMs >= LONGEST_MS) return dateText(new Date(at), new Date(now));
  if (awayMs < FEW_SECONDS_MS) return at > now ? t`now` : t`just now`;
  return at > now ? inText(awayMs) : beforeText(awayMs);
}

function inText(ms: number): string {
  const { seconds, minutes, hours, days } = amountsIn(ms);
  if (ms < MINUTE_MS) return t`in ${seconds} s`;
  if (ms < HOUR_MS) return t`in ${minutes} min`;
  return ms < DAY_MS ? t`in ${hours} h` : plural(days, { one: 'in # day', other: 'in # days' });
}

function beforeText(ms: number): string {
  const { seconds, minutes, hours, days } = amountsIn(ms);
  if (ms < MINUTE_MS) return t`${seconds} s ago`;
  if (ms < HOUR_MS) return t`${minutes} min ago`;
  return ms < DAY_MS ? t`${hours} h ago` : plural(days, { one: '# day ago', other: '# days ago' });
}

function amountsIn(ms: number) {
  const seconds = (Math.floor(ms / FEW_SECONDS_MS) * FEW_SECONDS_MS) / SECOND_MS;
  const [minutes = 0, hours = 0, days = 0] = [MINUTE_MS, HOUR_MS, DAY_MS].map((unit) =>
    Math.floor(ms / unit),
  );
  return { seconds, minutes, hours, days };
}

function dateText(at: Date, now: Date): string {
  return at.getFullYear() === now.getFullYear() ? formatDay(at) : formatDate(at);
}

/** How long the text of `agoText` stays as it is, in milliseconds. */
export function agoLastsMs(at: number, now: number): number {
  const awayMs = Math.abs(now - at);
  const step = stepOf(awayMs);
  const intoStep = awayMs % step;
  return at > now ? intoStep + 1 : step - intoStep;
}

function stepOf(awayMs: number): number {
  if (awayMs < MINUTE_MS) return FEW_SECONDS_MS;
  if (awayMs < HOUR_MS) return MINUTE_MS;
  return awayMs < DAY_MS ? HOUR_MS : DAY_MS;
}
