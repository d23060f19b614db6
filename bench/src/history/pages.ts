import { FAILED_TYPE, orderId } from './move-all';
import { atIndex, getJson, measure, minuteOf, type Route } from './routes';
import type { WithHistory } from './stage';

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

export interface Asker {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Pages of fifty, by each filter. */
export async function pageRoutes(stage: WithHistory, asker: Asker): Promise<readonly Route[]> {
  const samples = await readSamples(stage);
  const sample = (i: number) => atIndex(samples, i);
  const list = '/v1/deliveries';
  const minute = (i: number) => minuteOf(sample(i).at);
  const cursors = await Promise.all(
    samples.slice(0, CURSORS).map(async ({ at }) => {
      const until = new Date(at + 1).toISOString();
      return String((await getJson(`${asker.url}${list}?limit=1&until=${until}`, asker.headers)).next_cursor);
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
export function metricsRoutes(yesterday: number): readonly Route[] {
  const route =
    (lengthMs: number, interval: string, stepMs: number, more = '') =>
    (i: number) => {
      const until = yesterday + 86_400_000 - (i % 12) * stepMs;
      const [from, to] = [until - lengthMs, until].map((ms) => new Date(ms).toISOString());
      return `/v1/metrics/deliveries?since=${from}&until=${to}&interval=${interval}${more}`;
    };
  const day = 86_400_000;
  return [
    ['GET /v1/metrics/deliveries, 24 h by 5 min', route(day, '5m', 300_000)],
    ['… 30 d by day', route(30 * day, '1d', day)],
    ['… 24 h by hour and webhook', route(day, '1h', 3_600_000, '&group_by=webhook_id')],
    ['… 30 d by day and webhook', route(30 * day, '1d', day, '&group_by=webhook_id')],
  ];
}

export interface RouteTimes {
  readonly label: string;
  readonly durations: readonly number[];
}

export async function timeRoutes(
  { url, headers }: Asker,
  routes: readonly Route[],
  requests: number,
): Promise<readonly RouteTimes[]> {
  const times: RouteTimes[] = [];
  for (const [label, pathOf] of routes) {
    const get = (path: string) => getJson(url + path, headers);
    await measure({ get, pathOf, requests: Math.ceil(requests / 10), atOnce: 1 });
    times.push({ label, durations: await measure({ get, pathOf, requests, atOnce: 1 }) });
    process.stderr.write(`  ${label}\n`);
  }
  return times;
}
