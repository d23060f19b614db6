import type { Target } from '../traffic/sender';
import { FAILED_TYPE, orderId } from './move-all';
import { DAY_MS, type WithHistory, yesterday } from './stage';

/** Which path the i-th request asks for. */
type Route = readonly [label: string, pathOf: (i: number) => string];

/** What is answered to a GET. */
async function getJson({ url, headers }: Target, path: string): Promise<Record<string, unknown>> {
  const response = await fetch(url + path, { headers });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${path} was answered with ${response.status}.`);
  return JSON.parse(body) as Record<string, unknown>;
}

interface Sample {
  readonly event_id: string;
  readonly webhook_id: string;
  readonly at: number;
}

const SAMPLES = 500;
const CURSORS = 50;

/** Some deliveries of all days. */
async function readSamples({ postgres }: WithHistory): Promise<readonly Sample[]> {
  const sampleOf = (percent: number) =>
    postgres.query<Sample>(
      `SELECT event_id, webhook_id, (extract(epoch FROM accepted_at) * 1000)::float8 AS at
       FROM webhook_deliveries TABLESAMPLE SYSTEM (${percent}) ORDER BY random() LIMIT ${SAMPLES}`,
    );
  const samples = await sampleOf(0.5);
  // It takes whole pages of the tables: of small tables none.
  return samples.length < CURSORS ? await sampleOf(100) : samples;
}

function atIndex<Item>(items: readonly Item[], i: number): Item {
  const item = items[i % items.length];
  if (item === undefined) throw new Error('Nothing was loaded.');
  return item;
}

function span(from: number, to: number): string {
  return `since=${new Date(from).toISOString()}&until=${new Date(to).toISOString()}`;
}

/** Pages of fifty, by each filter. */
export async function pageRoutes(stage: WithHistory, asker: Target): Promise<readonly Route[]> {
  const samples = await readSamples(stage);
  const sample = (i: number) => atIndex(samples, i);
  const list = '/v1/deliveries';
  const minute = (i: number) => span(sample(i).at, sample(i).at + 60_000);
  const cursors = await Promise.all(
    samples.slice(0, CURSORS).map(async ({ at }) => {
      const until = new Date(at + 1).toISOString();
      return String((await getJson(asker, `${list}?limit=1&until=${until}`)).next_cursor);
    }),
  );
  return [
    ['GET /v1/deliveries', () => list],
    ['… ?cursor=…', (i) => `${list}?cursor=${atIndex(cursors, i)}`],
    ['… ?since=…&until=…', (i) => `${list}?${minute(i)}`],
    ['… ?status=delivered', () => `${list}?status=delivered`],
    ['… ?status=exhausted, one in 50', () => `${list}?status=exhausted`],
    ['… ?status=aborted, there is none', () => `${list}?status=aborted`],
    ['… ?outcome=http_5xx, one in 50', () => `${list}?outcome=http_5xx`],
    ['… ?outcome=tls_error, there is none', () => `${list}?outcome=tls_error`],
    ['… ?status_class=2xx', () => `${list}?status_class=2xx`],
    ['… ?status_class=4xx, there is none', () => `${list}?status_class=4xx`],
    ['… ?event_type=…, one in 50', () => `${list}?event_type=${FAILED_TYPE}`],
    ['… ?event_type=…, there is none', () => `${list}?event_type=none.such`],
    ['… ?webhook_id=…', (i) => `${list}?webhook_id=${sample(i).webhook_id}`],
    [
      '… ?webhook_id=…&status=exhausted',
      (i) => `${list}?webhook_id=${sample(i).webhook_id}&status=exhausted`,
    ],
    ['… ?event_id=…', (i) => `${list}?event_id=${sample(i).event_id}`],
    ['GET /v1/webhooks/{id}/deliveries', (i) => `/v1/webhooks/${sample(i).webhook_id}/deliveries`],
    ['GET /v1/events', () => '/v1/events'],
    ['… ?since=…&until=…', (i) => `/v1/events?${minute(i)}`],
    ['… ?type=…, one in 50', () => `/v1/events?type=${FAILED_TYPE}`],
    ['GET /v1/events/{id}', (i) => `/v1/events/${sample(i).event_id}`],
    ['GET /v1/deliveries/{id}', (i) => `/v1/deliveries/${sample(i).event_id}.${sample(i).webhook_id}`],
  ];
}

const containing = (data: object) => `data=${encodeURIComponent(JSON.stringify(data))}`;

/** By what events contain. */
export function searchRoutes(moved: number, days: number): readonly Route[] {
  // Steps that are prime to the numbers go through all of them, back and forth in time.
  const id = (i: number) => orderId(((i * 7_919) % moved) + ((i * 3) % (days + 1)) * 1_000_000);
  return [
    ['GET /v1/events?data=…, one event', (i) => `/v1/events?${containing({ order: { id: id(i) } })}`],
    [
      '… one in 1,000',
      (i) => `/v1/events?${containing({ customer: `c-${String(i % 1_000).padStart(4, '0')}` })}`,
    ],
    ['… none', (i) => `/v1/events?${containing({ order: { id: i } })}`],
    ['… all', () => `/v1/events?${containing({})}`],
    ['GET /v1/deliveries?data=…, one event', (i) => `/v1/deliveries?${containing({ order: { id: id(i) } })}`],
  ];
}

/** Each request asks for another time: what was asked for a moment ago is remembered. */
export function metricsRoutes(): readonly Route[] {
  const route = (lengthMs: number, interval: string, stepMs: number, more = '') => {
    return (i: number) => {
      const until = yesterday() + DAY_MS - (i % 12) * stepMs;
      return `/v1/metrics/deliveries?${span(until - lengthMs, until)}&interval=${interval}${more}`;
    };
  };
  return [
    ['GET /v1/metrics/deliveries, 24 h by 5 min', route(DAY_MS, '5m', 300_000)],
    ['… 30 d by day', route(30 * DAY_MS, '1d', DAY_MS)],
    ['… 24 h by hour and webhook', route(DAY_MS, '1h', 3_600_000, '&group_by=webhook_id')],
    ['… 30 d by day and webhook', route(30 * DAY_MS, '1d', DAY_MS, '&group_by=webhook_id')],
  ];
}

export interface RouteTimes {
  readonly label: string;
  /** Of each request, in milliseconds. */
  readonly durations: readonly number[];
}

/** One request after the other. The first ones, a tenth, are not counted. */
export async function timeRoutes(
  asker: Target,
  routes: readonly Route[],
  requests: number,
): Promise<readonly RouteTimes[]> {
  const times: RouteTimes[] = [];
  for (const [label, pathOf] of routes) {
    const timeEach = async (count: number) => {
      const durations: number[] = [];
      for (let i = 0; i < count; i += 1) {
        const path = pathOf(i);
        const startedAt = performance.now();
        await getJson(asker, path);
        durations.push(performance.now() - startedAt);
      }
      return durations;
    };
    await timeEach(Math.ceil(requests / 10));
    times.push({ label, durations: await timeEach(requests) });
    process.stderr.write(`  ${label}\n`);
  }
  return times;
}
