const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Until then a time is told by how long ago it was, from then on by its date. */
const LONGEST_MS = 30 * DAY_MS;

/** Within a minute: a list in which each second is told is not quiet to look at. */
const FEW_SECONDS_MS = 10 * SECOND_MS;

const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const dayOfYear = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric' });

/** `2 min ago`, `in 3 h`, `Oct 3`: whole units, cut and not rounded. Both times in milliseconds since the Unix epoch. */
export function agoText(at: number, now: number): string {
  const awayMs = Math.abs(now - at);
  if (awayMs >= LONGEST_MS) return dateText(new Date(at), new Date(now));
  if (awayMs < FEW_SECONDS_MS) return at > now ? 'now' : 'just now';
  const amount = amountText(awayMs);
  return at > now ? `in ${amount}` : `${amount} ago`;
}

function amountText(ms: number): string {
  if (ms < MINUTE_MS) return `${(Math.floor(ms / FEW_SECONDS_MS) * FEW_SECONDS_MS) / SECOND_MS} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  const days = Math.floor(ms / DAY_MS);
  return days === 1 ? '1 day' : `${days} days`;
}

function dateText(at: Date, now: Date): string {
  return (at.getFullYear() === now.getFullYear() ? day : dayOfYear).format(at);
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
