import type { History } from './load-history';

/** Which path the i-th request to a route asks for. */
export type PathOf = (i: number) => string;

export type Route = readonly [label: string, pathOf: PathOf];

export interface RoutesInput extends History {
  /** The page of a webhook's deliveries that begins at a time: what has come before it is not seen. */
  readonly cursorAt: (endpointId: string, time: number) => Promise<string>;
}

// Not as many as there are samples: each is a request of its own.
const CURSORS = 50;
const MINUTE_MS = 60_000;

/** What is asked for, and how it is called in the report. */
export async function routesOf(input: RoutesInput): Promise<readonly Route[]> {
  const { endpointIds, samples } = input;
  // A step that is prime to their number goes through all of them, back and forth in time.
  const sample = (i: number) => atIndex(samples, i * 7);
  const list: PathOf = (i) => `/v1/webhooks/${atIndex(endpointIds, i)}/deliveries`;
  const deep = await deepPages(input);
  return [
    ['GET /v1/webhooks/{id}/deliveries', list],
    ['… ?limit=200', (i) => `${list(i)}?limit=200`],
    ['… ?cursor=…', (i) => atIndex(deep, i)],
    ['… ?since=…&until=…', (i) => `${list(i)}?${minuteOf(sample(i).createdAt)}`],
    ['… ?status=delivered', (i) => `${list(i)}?status=delivered`],
    ['… ?status=exhausted, one in 50', (i) => `${list(i)}?status=exhausted`],
    ['… ?status=held, there is none', (i) => `${list(i)}?status=held`],
    ['… ?status_class=5xx, one in 50', (i) => `${list(i)}?status_class=5xx`],
    ['… ?status_class=4xx, there is none', (i) => `${list(i)}?status_class=4xx`],
    ['… ?event_type=…, all are', (i) => `${list(i)}?event_type=keyword.quick_win`],
    ['… ?event_type=…, there is none', (i) => `${list(i)}?event_type=x`],
    ['GET /v1/deliveries/{id}', (i) => `/v1/deliveries/${sample(i).eventId}.${sample(i).endpointId}`],
    ['GET /v1/events', () => '/v1/events'],
    ['… ?since=…&until=…', (i) => `/v1/events?${minuteOf(sample(i).createdAt)}`],
    ['… ?type=…, there is none', () => '/v1/events?type=x'],
    ['GET /v1/events/{id}', (i) => `/v1/events/${sample(i).eventId}`],
    ['GET /v1/events/{id}/deliveries', (i) => `/v1/events/${sample(i).eventId}/deliveries`],
  ];
}

// From the middle of the time on.
async function deepPages({ samples, cursorAt }: RoutesInput): Promise<readonly string[]> {
  const middle = Math.floor(samples.length / 2);
  return await Promise.all(
    samples.slice(middle, middle + CURSORS).map(async ({ endpointId, createdAt }) => {
      const cursor = await cursorAt(endpointId, createdAt);
      return `/v1/webhooks/${endpointId}/deliveries?cursor=${cursor}`;
    }),
  );
}

function minuteOf(time: number): string {
  const [since, until] = [time, time + MINUTE_MS].map((ms) => new Date(ms).toISOString());
  return `since=${since}&until=${until}`;
}

function atIndex<Item>(items: readonly Item[], i: number): Item {
  const item = items[i % items.length];
  if (item === undefined) throw new Error('Nothing was loaded.');
  return item;
}
