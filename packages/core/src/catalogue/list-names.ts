const MOST_NAMED = 50;

/** Names of event types for the text of an error: not more than anybody reads. */
export function listNames(names: readonly string[]): string {
  const named = names.slice(0, MOST_NAMED).join(', ');
  const others = names.length - MOST_NAMED;
  return others > 0 ? `${named} and ${others} more, which GET /v1/event-types lists` : named;
}
