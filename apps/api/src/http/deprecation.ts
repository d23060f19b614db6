/** A route that will go away, which each of its responses tells. */
export interface Deprecation {
  /** The day from which on clients should not use it any more: `2027-03-01`. */
  readonly since: string;
  /** The day from which on it may be gone, at least a year later. */
  readonly sunset: string;
  /** The page that says what takes its place. */
  readonly guide: `https://${string}`;
}

const DAY_MS = 86_400_000;
/** What docs/api.md promises. */
const LEAST_MS = 365 * DAY_MS;

/**
 * The headers of its responses, names and values by turns: RFC 9745, RFC 8594 and a link of RFC 9745.
 *
 * @throws Error for less time than the API promises.
 */
export function deprecationHeaders({ since, sunset, guide }: Deprecation): readonly string[] {
  const [sinceMs, sunsetMs] = [Date.parse(since), Date.parse(sunset)];
  if (!(sunsetMs - sinceMs >= LEAST_MS)) {
    throw new Error(`A deprecated route stays for at least a year: ${since} to ${sunset} is less.`);
  }
  const link = `<${guide}>; rel="deprecation"; type="text/html"`;
  const deprecation = `@${sinceMs / 1_000}`;
  return ['deprecation', deprecation, 'sunset', new Date(sunsetMs).toUTCString(), 'link', link];
}
