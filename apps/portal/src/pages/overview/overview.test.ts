import type { DeliveryMetrics, MetricsPoint } from '../../api/metrics-queries';
import { csvOf, fromBegin, rateSeries, responseSeries, seriesAt, stacked, startsOf } from './columns';
import { attemptsHref, intervalFor, periodFrom, periodOf } from './period';
import { schemaOf } from './schema-of';
import { moreText } from './tiles';
import { hasBefore } from './use-overview';

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-11-26T12:34:56Z');

describe('a period', () => {
  const of = (query: string) => periodOf(new URLSearchParams(query), NOW);
  const at = (time: string) => Date.parse(time);

  it.each([
    ['', '1h', '2026-11-25T12:00:00Z'],
    ['range=1h', '1m', '2026-11-26T11:30:00Z'],
    ['range=7d', '1h', '2026-11-19T00:00:00Z'],
    ['range=30d', '1d', '2026-10-27T00:00:00Z'],
    ['range=forever', '1h', '2026-11-25T12:00:00Z'],
    ['since=x&until=2026-11-26T12:00:00Z', '1h', '2026-11-25T12:00:00Z'],
  ])('of %j is counted by %s from %s on', (query, interval, since) => {
    expect(of(query)).toMatchObject({ interval, since: at(since), until: undefined });
  });

  it('that was drawn begins and ends with whole intervals', () => {
    const drawn = of('since=2026-11-26T10:00:31Z&until=2026-11-26T11:00:29Z');
    const whole = { since: at('2026-11-26T10:00:00Z'), until: at('2026-11-26T11:01:00Z') };
    expect(drawn).toEqual({ span: undefined, interval: '1m', ...whole, end: whole.until });
  });

  it('has few enough intervals, however long it is', () => {
    expect([1, 12, 160, 2_000].map((hours) => intervalFor(hours * HOUR_MS))).toEqual([
      '1m',
      '5m',
      '1h',
      '1d',
    ]);
  });

  it('leads to the attempts that began in it', () => {
    expect(attemptsHref(NOW, NOW + 1, { attempt: 'http_5xx' })).toBe(
      '/deliveries?attempt=http_5xx&attempted_since=2026-11-26T12%3A34%3A56.000Z&attempted_until=2026-11-26T12%3A34%3A56.001Z',
    );
  });

  it.each([
    ['2026-11-25T18:00:00Z', '1h', '2026-11-25T12:00:00Z'],
    ['2026-11-26T10:00:00Z', '1m', '2026-11-26T10:00:00Z'],
    ['2026-11-26T12:34:00Z', '1m', '2026-11-26T12:21:00Z'],
  ])('of a day with nothing before %s is drawn by %s from %s on', (begin, interval, since) => {
    expect(periodFrom(of(''), at(begin))).toMatchObject({ interval, since: at(since) });
  });

  it('in which there is nothing is drawn whole', () => {
    expect(periodFrom(of(''), undefined)).toEqual(of(''));
  });
});

const [FIRST, SECOND] = ['2026-11-26T10:00:00.000Z', '2026-11-26T11:00:00.000Z'];

function metricsOf(points: readonly Partial<MetricsPoint>[]): DeliveryMetrics {
  const none = { attempts: 0, delivered: 0, failed: 0, retried: 0, exhausted: 0 };
  const times = { p50_ms: null, p95_ms: null, p99_ms: null, lag_p50_ms: null, lag_p95_ms: null };
  const data = points.map((point) => ({ starts_at: FIRST, group: {}, ...none, ...times, ...point }));
  return { data, interval: '1h', since: FIRST, until: '2026-11-26T12:00:00.000Z', source: 'recent' };
}

const counted = (start: string, outcome: MetricsPoint['group']['outcome'], attempts: number) => ({
  starts_at: start,
  group: outcome === undefined ? {} : { outcome },
  attempts,
});

it.each([
  ['an hour, without a history', 'recent', '1h', true],
  ['a day, without a history', 'recent', '24h', false],
  ['a week, without a history', 'recent', '7d', false],
  ['a day, with a history', 'history', '24h', true],
  ['a month, with a history', 'history', '30d', true],
] as const)('the time before is compared with %s, where it is known', (_case, source, range, is) => {
  const now = Date.parse('2030-01-31T12:34:56Z');
  const period = periodOf(new URLSearchParams({ range }), now);
  const until = new Date(now).toISOString();
  const total: DeliveryMetrics = { data: [], interval: 'total', since: until, until, source };
  expect(hasBefore(total, period)).toBe(is);
  expect(hasBefore(undefined, period)).toBe(false);
});

describe('columns', () => {
  it('have every time, also one in which there was nothing', () => {
    expect(startsOf(metricsOf([]), HOUR_MS)).toEqual([FIRST, SECOND].map(Date.parse));
  });

  it('are of the most frequent responses, and of all others together', () => {
    const kinds = ['http_5xx', 'http_4xx', 'dns_error', 'tls_error', 'http_3xx', 'network_error'] as const;
    const failed = kinds.map((outcome, i) => counted(FIRST, outcome, 10 - i));
    const metrics = metricsOf([counted(SECOND, 'delivered', 3), ...failed]);
    const series = responseSeries(metrics, startsOf(metrics, HOUR_MS));
    expect(series.map(({ label, values }) => [label, ...values])).toEqual([
      ['Delivered', 0, 3],
      ['HTTP 5xx', 10, 0],
      ['HTTP 4xx', 9, 0],
      ['DNS error', 8, 0],
      ['TLS error', 7, 0],
      ['Other', 11, 0],
    ]);
    expect(new Set(series.map(({ color }) => color)).size).toBe(series.length);
    expect(series.at(-1)?.leads).toEqual({ attempt: 'http_3xx,network_error' });
  });

  it('are stacked, and tell which of them a height is in', () => {
    const metrics = metricsOf([counted(FIRST, 'delivered', 3), counted(FIRST, 'http_5xx', 2)]);
    const series = responseSeries(metrics, startsOf(metrics, HOUR_MS));
    expect(stacked(series)).toEqual([
      [3, 0],
      [5, 0],
    ]);
    expect([2, 4, 6].map((height) => seriesAt(series, 0, height)?.label)).toEqual([
      'Delivered',
      'HTTP 5xx',
      undefined,
    ]);
  });

  it('say nothing of a rate where nothing was sent, and come as CSV', () => {
    const metrics = metricsOf([{ attempts: 4, delivered: 3 }]);
    const starts = startsOf(metrics, HOUR_MS);
    const series = rateSeries(metrics, starts);
    expect(series[0]?.values).toEqual([0.75, null]);
    expect(csvOf({ starts, lengthMs: HOUR_MS, series })).toBe(
      `start,"Success"\r\n${FIRST},0.75\r\n${SECOND},\r\n`,
    );
  });
});

it('begins a chart where something begins, and says so', () => {
  const starts = Array.from({ length: 24 }, (_, i) => i * HOUR_MS);
  const from = (first: number, before: number | null = 0) =>
    fromBegin(
      {
        starts,
        lengthMs: HOUR_MS,
        series: [{ label: 'Events', color: 1, values: starts.map((_, i) => (i < first ? before : i)) }],
      },
      before === 0 ? 'bars' : 'lines',
    );
  expect(from(9).begin).toBe(9 * HOUR_MS);
  expect(from(9).series[0]?.values.slice(0, 3)).toEqual([0, 9, 10]);
  expect(from(9, null).series[0]?.values.slice(0, 3)).toEqual([null, 9, 10]);
  expect(from(23).starts).toHaveLength(4);
  expect(from(5).begin).toBeUndefined();
  expect(from(24).begin).toBeUndefined();
});

it.each([
  [12, 10, '▲ 20% more than before'],
  [5, 10, '▼ 50% less than before'],
  [10, 10, 'as before'],
  [300, 10, '▲ 30 times as much as before'],
  [3, 0, undefined],
  [3, undefined, undefined],
])('says how %d differs from %j', (now, before, text) => {
  expect(moreText(now, before)).toBe(text);
});

it('proposes a schema that an example fits', () => {
  const example = '{"id":"inv_1","amount":12.5,"count":2,"paid":true,"lines":[{"sku":"a"}],"note":null}';
  const line = { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] };
  expect(schemaOf(example)).toEqual({
    type: 'object',
    properties: {
      id: { type: 'string' },
      amount: { type: 'number' },
      count: { type: 'integer' },
      paid: { type: 'boolean' },
      lines: { type: 'array', items: line },
      note: {},
    },
    required: ['id', 'amount', 'count', 'paid', 'lines', 'note'],
  });
  expect(schemaOf('{no')).toBeUndefined();
});
