import type { History, Sample } from './load-history';

/** Which path the i-th request to a route asks for. */
export type PathOf = (i: number) => string;

export type Route = readonly [label: string, pathOf: PathOf];

export interface RoutesInput extends History {
  /** The page of a list of deliveries that begins at a time: what has come before it is not seen. */
  readonly cursorAt: (list: string, time: number) => Promise<string>;
}

// Not as many as there are samples: each is a request of its own.
const CURSORS = 50;
const MINUTE_MS = 60_000;

/** What is asked for, and how it is called in the report. */
export async function listRoutes(input: RoutesInput): Promise<readonly Route[]> {
  const { endpointIds, samples } = input;
  // A step that is prime to their number goes through all of them, back and forth in time.
  const sample = (i: number) => atIndex(samples, i * 7);
  const list: PathOf = (i) => `/v1/webhooks/${atIndex(endpointIds, i)}/deliveries`;
  const deep = await deepPages(input, ({ endpointId }) => `/v1/webhooks/${endpointId}/deliveries`);
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
async function deepPages(
  { samples, cursorAt }: RoutesInput,
  listOf: (sample: Sample) => string,
): Promise<readonly string[]> {
  const middle = Math.floor(samples.length / 2);
  return await Promise.all(
    samples.slice(middle, middle + CURSORS).map(async (sample) => {
      const list = listOf(sample);
      return `${list}?cursor=${await cursorAt(list, sample.createdAt)}`;
    }),
  );
}

/** What is asked for of all deliveries of an account: there is no list of them. */
export async function accountRoutes(input: RoutesInput): Promise<readonly Route[]> {
  const list = '/v1/deliveries';
  const sample = (i: number) => atIndex(input.samples, i * 7);
  const deep = await deepPages(input, () => list);
  return [
    [`GET ${list}`, () => list],
    ['… ?limit=200', () => `${list}?limit=200`],
    ['… ?cursor=…', (i) => atIndex(deep, i)],
    ['… ?since=…&until=…', (i) => `${list}?${minuteOf(sample(i).createdAt)}`],
    ['… ?status=exhausted, one in 50', () => `${list}?status=exhausted`],
    ['… ?status=held, there is none', () => `${list}?status=held`],
    ['… ?outcome=http_4xx, there is none', () => `${list}?outcome=http_4xx`],
    ['… ?event_type=…, there is none', () => `${list}?event_type=x`],
    ['… ?webhook_id=…', (i) => `${list}?webhook_id=${sample(i).endpointId}`],
    ['… ?event_id=…', (i) => `${list}?event_id=${sample(i).eventId}`],
  ];
}

/** What is asked for of an account with an event that went to thousands of webhooks. */
export function fanOutRoutes(): readonly Route[] {
  return [
    ['GET /v1/deliveries', () => '/v1/deliveries'],
    ['… ?limit=200', () => '/v1/deliveries?limit=200'],
    ['… ?status=exhausted, there is none', () => '/v1/deliveries?status=exhausted'],
    ['… ?status=held, there is none', () => '/v1/deliveries?status=held'],
    ['GET /v1/webhooks', () => '/v1/webhooks'],
    ['… ?include=health', () => '/v1/webhooks?include=health'],
    ['… ?include=health&limit=200', () => '/v1/webhooks?include=health&limit=200'],
  ];
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
