import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { apiSettings } from '../../apps/api/src/config';
import { workerSettings } from '../../apps/worker/src/config';
import { describeChart } from './chart-tools';
import { CHART, renderChart, type Values, valueAt } from './render-chart';
import { ALL, LEAST } from './sample-values';

const schema: unknown = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'));
const values: unknown = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'));

const namesOfApi = Object.keys(apiSettings.shape);
const namesOfWorker = Object.keys(workerSettings.shape);
/** By Node.js and by the exporter of traces: docs/performance.md, docs/tracing.md. */
const READ_BY_LIBRARIES = [
  'NODE_EXTRA_CA_CERTS',
  'NODE_OPTIONS',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_EXPORTER_OTLP_COMPRESSION',
  'OTEL_EXPORTER_OTLP_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
  'OTEL_EXPORTER_OTLP_CLIENT_KEY',
];
/** Secrets, what has values of its own, and where its ports and probes are. */
const GIVEN_BY_CHART = new Set([
  'REDIS_URL',
  'SECRETS_ENCRYPTION_KEY',
  'BOOTSTRAP_API_KEY',
  'HISTORY_DATABASE_URL',
  'DELIVERY_PROXY_URL',
  'SMTP_URL',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'TRACEPARENT_TO_RECEIVERS',
  'SHUTDOWN_TIMEOUT',
  'DELIVERY_ALLOWED_CIDRS',
  'DELIVERY_TIMEOUT',
  'DRAIN_DELAY',
  'PORTAL',
  'PORTAL_FRAME_ANCESTORS',
  'PUBLIC_URL',
  'API_HOST',
  'API_PORT',
  'WORKER_HOST',
  'WORKER_PORT',
]);

describe('values.schema.json', () => {
  it('says of every value what it is', () => {
    const undescribed = pathsOf(values, schema).filter(
      (path) => typeof valueAt(schema, `properties.${path}.description`) !== 'string',
    );
    expect(undescribed).toEqual([]);
  });

  it.each([
    ['settings', [...namesOfApi, ...namesOfWorker]],
    ['api.properties.settings', namesOfApi],
    ['worker.properties.settings', namesOfWorker],
  ])('takes as %s what processes know, but for what the chart itself gives them', (path, known) => {
    const names = new Set([...known, ...READ_BY_LIBRARIES]);
    const free = [...names].filter((name) => !GIVEN_BY_CHART.has(name));
    const taken = valueAt(schema, `properties.${path}.propertyNames.enum`) as string[];
    expect(taken.toSorted()).toEqual(free.toSorted());
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
    ['settings of one process among those of both', { ...LEAST, settings: { RATE_LIMIT: '1000/1s' } }],
    ['as many at most as at least', { ...LEAST, api: { autoscaling: { maxReplicas: 2 } } }],
    [
      'a limit that is taken away, and resources of other kinds',
      {
        ...LEAST,
        worker: { resources: { requests: { cpu: 0.5 }, limits: { memory: null, 'example.com/nic': 1 } } },
      },
    ],
    ['ranges of IPv6', { ...LEAST, allowedCidrs: ['fd00::/8', '::1/128'] }],
  ])('may be %s', (_what, good) => {
    expect(renderChart(helm, good)).not.toEqual([]);
  });

  it.each<[string, Values, RegExp]>([
    ['a name that is misspelled', { api: { replica: 3 } }, /api: Additional property replica is not allowed/],
    ['a text for a number', { worker: { replicas: 'two' } }, /worker.replicas: Invalid type/],
    ['no worker at all', { worker: { autoscaling: { minReplicas: 0 } } }, /minReplicas: Must be greater/],
    ['a prefix without a slash', { image: { prefix: 'registry' } }, /image.prefix: Does not match pattern/],
    ['a range that is an address', { allowedCidrs: ['10.0.0.1'] }, /allowedCidrs.0: Does not match pattern/],
    ['a range of no addresses', { allowedCidrs: ['10.256.0.0/16'] }, /allowedCidrs.0: Does not match/],
    ['a range that is too narrow', { allowedCidrs: ['fd00::/129'] }, /allowedCidrs.0: Does not match/],
    [
      'Redis at no range',
      { networkPolicy: { redis: { to: [{ ipBlock: { cidr: '10.2.3.4' } }] } } },
      /networkPolicy.redis.to.0.ipBlock.cidr: Does not match/,
    ],
    [
      'a peer that is misspelled',
      { networkPolicy: { apiFrom: [{ podSelektor: {} }] } },
      /apiFrom.0: Additional property podSelektor is not allowed/,
    ],
    [
      'as much CPU as words say',
      { api: { resources: { requests: { cpu: 'half' } } } },
      /requests.cpu: Does not match/,
    ],
    [
      'a resource that is misspelled',
      { worker: { resources: { limits: { memroy: '1Gi' } } } },
      /"memroy" does not match/,
    ],
    [
      'a kind of resources that there is not',
      { worker: { resources: { limit: {} } } },
      /Additional property limit is/,
    ],
    [
      'nodes that can never be emptied',
      { podDisruptionBudget: { maxUnavailable: 0 } },
      /maxUnavailable: Must be greater than or equal to 1/,
    ],
    [
      'nodes that can never be emptied, in per cent',
      { podDisruptionBudget: { maxUnavailable: '0%' } },
      /maxUnavailable: Does not match/,
    ],
    [
      'fewer of the API at most than at least',
      { api: { autoscaling: { minReplicas: 11 } } },
      /api.autoscaling.minReplicas is 11: it must not be more than maxReplicas \(10\)/,
    ],
    [
      'fewer workers at most than at least',
      { worker: { autoscaling: { enabled: true, maxReplicas: 1 } } },
      /worker.autoscaling.minReplicas is 2: it must not be more than maxReplicas \(1\)/,
    ],
    ['a setting that is misspelled', { settings: { LOG_LEVL: 'warn' } }, /"LOG_LEVL" does not match/],
    [
      'a setting of the worker for the API',
      { api: { settings: { WORKER_CONCURRENCY: 64 } } },
      /api.settings: Property name of "WORKER_CONCURRENCY" does not match/,
    ],
    [
      'a setting of the API for the worker',
      { worker: { settings: { RATE_LIMIT: 'off' } } },
      /worker.settings: Property name of "RATE_LIMIT" does not match/,
    ],
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
      'no way to the history',
      { secrets: { existingSecret: 'a', keys: { historyDatabaseUrl: 'b' } } },
      /networkPolicy.postgres.to is empty/,
    ],
    [
      'how long a history is kept that there is not',
      { worker: { settings: { HISTORY_RETENTION: '30d' } } },
      /HISTORY_RETENTION is set, and there is no history/,
    ],
    [
      'when to move, with no place to move to',
      { settings: { HISTORY_MOVE_AFTER: '5m' } },
      /HISTORY_MOVE_AFTER is set, and there is no history/,
    ],
    [
      'no way to the proxy',
      { secrets: { existingSecret: 'a', keys: { deliveryProxyUrl: 'b' } } },
      /networkPolicy.proxy.to is empty/,
    ],
    [
      'no way to the server of mail',
      { secrets: { existingSecret: 'a', keys: { smtpUrl: 'b' } } },
      /networkPolicy.smtp.to is empty, and no mail would reach/,
    ],
    [
      'names that are looked up at no port',
      { networkPolicy: { dns: { ports: [] } } },
      /networkPolicy.dns.ports: Array must have at least 1 items/,
    ],
    [
      "a volume that has the name of the chart's own",
      { extraVolumes: [{ name: 'secrets', emptyDir: {} }] },
      /extraVolumes.0.name: Must not validate the schema/,
    ],
    [
      'a mount without a folder',
      { extraVolumeMounts: [{ name: 'authority' }] },
      /extraVolumeMounts.0: mountPath is required/,
    ],
    [
      'a mount of a volume that there is not',
      { extraVolumeMounts: [{ name: 'authority', mountPath: '/etc/authority' }] },
      /extraVolumeMounts names authority, and extraVolumes has no volume of that name/,
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
    [
      'a runbook without a slash behind it',
      { metrics: { prometheusRule: { runbookUrl: 'https://git.example.com/webhooks' } } },
      /prometheusRule.runbookUrl: Does not match/,
    ],
    [
      'no Prometheus',
      { networkPolicy: { metricsFrom: [] } },
      /metricsFrom: Array must have at least 1 items/,
    ],
    ['an ingress for nobody', { api: { ingress: { enabled: true } } }, /api.ingress.host is missing/],
    [
      'less time to stop than to deliver',
      { shutdownTimeoutSeconds: 15 },
      /shutdownTimeoutSeconds is 15: it must be more than worker.deliveryTimeoutSeconds/,
    ],
  ])('may not be %s', (_what, bad, message) => {
    const least = {
      secrets: { existingSecret: 'hookferry-secrets' },
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
