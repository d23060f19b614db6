import { t } from '@lingui/core/macro';
import { direction, locale } from './language';

/** Numbers, times and durations as the viewer's language writes them. Times are milliseconds since the Unix epoch, or a `Date`. */

const numbers = (options?: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options);
const dates = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options);
type At = Date | number;

const counts = numbers();
const oneDigit = numbers({ maximumFractionDigits: 1 });
const wholes = numbers({ maximumFractionDigits: 0 });
const compact = numbers({ notation: 'compact' });
const percents = [0, 1, 2].map((digits) => numbers({ style: 'percent', maximumFractionDigits: digits }));

/** `12,345` */
export const formatCount = (count: number) => counts.format(count);

/** `0.3`, `1,234.5`: one digit after the point at most. */
export const formatNumber = (value: number) => oneDigit.format(value);

/** `12K`: for axes. */
export const formatCompact = (value: number) => compact.format(value);

/** `99.5%` of 0.995, with that many digits after the point at most. */
export const formatPercent = (share: number, digits: 0 | 1 | 2 = 0) => percents[digits]?.format(share) ?? '';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A duration, short: `0.4 ms`, `38 ms`, `4.3 s`, `61 s`, `5 min`, `2.5 h`, `3 d`; `–` for one that is not known. */
export function formatMs(ms: number | null): string {
  if (ms === null) return '–';
  const amount = amountOf(ms);
  if (ms < SECOND_MS) return t`${amount} ms`;
  if (ms < 2 * MINUTE_MS) return t`${amount} s`;
  if (ms < 2 * HOUR_MS) return t`${amount} min`;
  return ms < 2 * DAY_MS ? t`${amount} h` : t`${amount} d`;
}

function amountOf(ms: number): string {
  if (ms < SECOND_MS) return (ms < 10 ? oneDigit : wholes).format(ms);
  if (ms < 2 * MINUTE_MS) return (ms < MINUTE_MS ? oneDigit : wholes).format(ms / SECOND_MS);
  if (ms < 2 * HOUR_MS) return wholes.format(ms / MINUTE_MS);
  return ms < 2 * DAY_MS ? oneDigit.format(ms / HOUR_MS) : oneDigit.format(ms / DAY_MS);
}

const BYTES: readonly ((amount: string) => string)[] = [
  (amount) => t`${amount} B`,
  (amount) => t`${amount} KiB`,
  (amount) => t`${amount} MiB`,
  (amount) => t`${amount} GiB`,
  (amount) => t`${amount} TiB`,
  (amount) => t`${amount} PiB`,
];

/** `1.5 MiB` */
export function formatBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), BYTES.length - 1);
  const value = bytes / 1024 ** power;
  const amount = (power === 0 || value >= 100 ? wholes : oneDigit).format(value);
  return BYTES[power]?.(amount) ?? amount;
}

const times = dates({ dateStyle: 'medium', timeStyle: 'medium' });
const timesToMinute = dates({ dateStyle: 'medium', timeStyle: 'short' });
const fullDates = dates({ dateStyle: 'medium' });
const days = dates({ month: 'short', day: 'numeric' });
const shortTimes = dates({
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit',
});
const clocks = dates({ hour: 'numeric', minute: '2-digit' });
const zones = dates({ timeZoneName: 'short' });

/** `Oct 3, 2030, 2:03:04 PM` */
export const formatTime = (at: At) => times.format(at);

/** `Oct 3, 2030, 2:03 PM` */
export const formatTimeToMinute = (at: At) => timesToMinute.format(at);

/** `Oct 3, 2030, 2:00 – 3:00 PM` */
export const formatTimeRange = (from: At, to: At) => timesToMinute.formatRange(from, to);

/** `Oct 3, 2030` */
export const formatDate = (at: At) => fullDates.format(at);

/** `Oct 3` */
export const formatDay = (at: At) => days.format(at);

/** `Oct 3, 2:03:04 PM` */
export const formatShortTime = (at: At) => shortTimes.format(at);

/** `2:03 PM` */
export const formatClock = (at: At) => clocks.format(at);

/** The name of the viewer's time zone at a time, such as `GMT+2`. */
export const formatZone = (at: At) =>
  zones.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';

const lists = {
  and: new Intl.ListFormat(locale),
  or: new Intl.ListFormat(locale, { type: 'disjunction' }),
};

/** `a, b, and c`, or `a, b, or c`. */
export const formatList = (items: Iterable<string>, kind: 'and' | 'or' = 'and') => lists[kind].format(items);

/** `a, b, c`: short things beside each other, without a word between them. */
export const formatRow = (items: readonly string[]): string =>
  items.length === 0 ? '' : items.reduce((former, next) => t`${former}, ${next}`);

/** A name or an example within a sentence: in one from right to left its signs stay where they are. */
export const isolated = (text: string) => (direction === 'rtl' ? `\u2068${text}\u2069` : text);
