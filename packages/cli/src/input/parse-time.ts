import { InvalidArgumentError } from 'commander';

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(\d{1,9})([smhd])$/;
// RFC 3339. A time without a zone would be another moment on each machine.
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/** Milliseconds of such as `90s`, `15m`, `2h`, `7d`. @throws InvalidArgumentError. */
export function parseDuration(text: string): number {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (count === undefined || !isUnit(unit)) {
    throw new InvalidArgumentError('It must be a number and one of s, m, h, d, such as 15m.');
  }
  return Number(count) * UNIT_MS[unit];
}

/** A time, or how long ago, as RFC 3339 in UTC. @throws InvalidArgumentError. */
export function parseTime(text: string, now = Date.now()): string {
  if (DURATION.test(text)) return new Date(now - parseDuration(text)).toISOString();
  return parseMoment(text, 'how long ago');
}

/** A time, or in how long, as RFC 3339 in UTC. @throws InvalidArgumentError. */
export function parseTimeAhead(text: string, now = Date.now()): string {
  if (DURATION.test(text)) return new Date(now + parseDuration(text)).toISOString();
  return parseMoment(text, 'in how long');
}

function parseMoment(text: string, orElse: string): string {
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new InvalidArgumentError(`It must be a time such as 2026-11-21T16:00:00Z, or ${orElse}, such as 2h.`);
}

function isUnit(text: string | undefined): text is keyof typeof UNIT_MS {
  return text !== undefined && text in UNIT_MS;
}
