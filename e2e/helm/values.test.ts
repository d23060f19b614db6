import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describeChart } from './chart-tools';
import { CHART, renderChart, type Values, valueAt } from './render-chart';
import { ALL, LEAST } from './sample-values';

const schema: unknown = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'));
const values: unknown = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'));

describe('values.schema.json', () => {
  it('says of every value what it is', () => {
    const undescribed = pathsOf(values, schema).filter(
      (path) => typeof valueAt(schema, `properties.${path}.description`) !== 'string',
    );
    expect(undescribed).toEqual([]);
  });
});

const PEERS = [{ ipBlock: { cidr: '10.2.3.4/32' } }];

describeChart('the values of the Helm chart', ({ helm }) => {
  it.each<[string, Values]>([
    ['as few as can be', LEAST],
    ['all that there are', ALL],
    ['without policies', { ...LEAST, networkPolicy: { enabled: false } }],
    ['a percentage', { ...LEAST, podDisruptionBudget: { maxUnavailable: '25%' } }],
    ['settings as numbers', { ...LEAST, settings: { RETENTION_COUNT: 1000 } }],
  ])('may be %s', (_what, good) => {
    expect(renderChart(helm, good)).not.toEqual([]);
  });

  it.each<[string, Values, RegExp]>([
    ['a name that is misspelled', { api: { replica: 3 } }, /api: Additional property replica is not allowed/],
    ['a text for a number', { worker: { replicas: 'two' } }, /worker.replicas: Invalid type/],
    ['no worker at all', { worker: { autoscaling: { minReplicas: 0 } } }, /minReplicas: Must be greater/],
    ['a prefix without a slash', { image: { prefix: 'registry' } }, /image.prefix: Does not match pattern/],
    ['a range that is an address', { allowedCidrs: ['10.0.0.1'] }, /allowedCidrs.0: Does not match pattern/],
    ['a secret among settings', { settings: { REDIS_URL: 'x' } }, /"REDIS_URL" does not match/],
    [
      'a setting the chart makes',
      { worker: { settings: { DELIVERY_TIMEOUT: '9s' } } },
      /"DELIVERY_TIMEOUT" does/,
    ],
    ['no secret', { secrets: {} }, /secrets.values.redisUrl is missing/],
    [
      'two ways for one secret',
      { secrets: { existingSecret: 'a', values: { redisUrl: 'redis://r' } } },
      /redisUrl and secrets.existingSecret are both set/,
    ],
    ['no way to Redis', { networkPolicy: {} }, /networkPolicy.redis.to is empty/],
    [
      'no way to the archive',
      { secrets: { existingSecret: 'a', keys: { archiveDatabaseUrl: 'b' } } },
      /networkPolicy.postgres.to is empty/,
    ],
    [
      'no way to the proxy',
      { secrets: { existingSecret: 'a', keys: { deliveryProxyUrl: 'b' } } },
      /networkPolicy.proxy.to is empty/,
    ],
    [
      'no way to the collector',
      { tracing: { endpoint: 'http://collector:4318' } },
      /networkPolicy.tracing.to is empty, and no trace would reach tracing.endpoint/,
    ],
    [
      'a collector among settings',
      { settings: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' } },
      /"OTEL_EXPORTER_OTLP_ENDPOINT" does not match/,
    ],
    [
      'traces for receivers alone',
      { tracing: { traceparentToReceivers: true } },
      /tracing.traceparentToReceivers is true, and tracing.endpoint is empty/,
    ],
    ['an ingress for nobody', { api: { ingress: { enabled: true } } }, /api.ingress.host is missing/],
    [
      'less time to stop than to deliver',
      { shutdownTimeoutSeconds: 15 },
      /shutdownTimeoutSeconds is 15: it must be more than worker.deliveryTimeoutSeconds/,
    ],
  ])('may not be %s', (_what, bad, message) => {
    const least = {
      secrets: { existingSecret: 'webhooks-secrets' },
      networkPolicy: { redis: { to: PEERS } },
    };
    expect(() => renderChart(helm, { ...least, ...bad })).toThrow(message);
  });
});

/** Where in the schema each value of values.yaml is. What is free to its user has no members there. */
function pathsOf(value: unknown, part: unknown): string[] {
  const properties = valueAt(part, 'properties');
  if (typeof value !== 'object' || value === null || properties === undefined) return [];
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => [
    name,
    ...pathsOf(member, valueAt(properties, name)).map((path) => `${name}.properties.${path}`),
  ]);
}
