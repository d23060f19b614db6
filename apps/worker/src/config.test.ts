import { digestsOf } from '@hookferry/core/operations/agreed-settings';
import { ConfigError } from '@hookferry/core/platform/settings';
import { caughtFrom } from '@hookferry/core/testing/caught-from';
import { moveAfterOf, readWorkerConfig, workerSettings } from './config';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const INSECURE = { INSECURE_UNENCRYPTED_SECRETS: 'true' };

describe('readWorkerConfig', () => {
  it('has the documented defaults', () => {
    expect(readWorkerConfig(INSECURE)).toEqual({
      REDIS_URL: 'redis://127.0.0.1:6379',
      QUEUE_SHARDS: 1,
      LOG_LEVEL: 'info',
      RETENTION: 14 * 24 * HOUR,
      RETENTION_COUNT: 100_000,
      HISTORY_MOVE_AFTER: 60_000,
      INTAKE: 'redis',
      HISTORY_RETENTION: 90 * 86_400_000,
      ACCOUNT_QUOTA_BYTES: 10 * 1024 ** 3,
      SHUTDOWN_TIMEOUT: 20_000,
      WORKER_HOST: '0.0.0.0',
      WORKER_PORT: 3001,
      WORKER_CONCURRENCY: 256,
      RETRY_SCHEDULE: [
        5_000,
        5 * MINUTE,
        30 * MINUTE,
        2 * HOUR,
        5 * HOUR,
        10 * HOUR,
        14 * HOUR,
        20 * HOUR,
        24 * HOUR,
      ],
      DELIVERY_TIMEOUT: 15_000,
      DELIVERY_CONNECT_TIMEOUT: 5_000,
      RESPONSE_BYTES_READ: 16 * 1024,
      RESPONSE_BYTES_KEPT: 4 * 1024,
      DISABLE_AFTER: 5 * 24 * HOUR,
      DISABLE_FAILURE_SPAN: 12 * HOUR,
      DELIVERY_ALLOWED_CIDRS: [],
      DELIVERY_DENIED_CIDRS: [],
      SECRETS_ENCRYPTION_KEY: [],
      INSECURE_UNENCRYPTED_SECRETS: true,
      JOB_LOCK_DURATION: 10_000,
      MAX_EVENT_BYTES: 256 * 1024,
      SIGNATURE_HEADER: 'X-Service-Signature',
      SIGNATURE_PREFIX: 'sha256=',
      TRANSFORM_TIMEOUT: 50,
      ENDPOINT_VERIFICATION: 'off',
      NOTIFY_FAILING_AFTER: 600_000,
      NOTIFY_SUCCESS_BELOW: 50,
      NOTIFY_SUCCESS_BELOW_FOR: 900_000,
      SCHEDULE_MAX: 30 * 86_400_000,
      TRANSFORM_MEMORY_MB: 16,
      AUDIT_COUNT: 10_000,
      BUILT_IN_EVENT_TYPES: true,
      AUDIT_RETENTION: 365 * 24 * HOUR,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      OTEL_TRACES_SAMPLER_ARG: 1,
      OTEL_SDK_DISABLED: false,
      TRACEPARENT_TO_RECEIVERS: false,
    });
  });

  it('refuses shards that there are not', () => {
    const read = (WORKER_SHARDS: string) => () =>
      readWorkerConfig({ ...INSECURE, QUEUE_SHARDS: '4', WORKER_SHARDS });
    expect(caughtFrom(read('4'))).toBeInstanceOf(ConfigError);
    expect(caughtFrom(read('some'))).toBeInstanceOf(ConfigError);
    expect(read('0,3')().WORKER_SHARDS).toEqual([0, 3]);
  });

  it('takes what is set', () => {
    expect(
      readWorkerConfig({
        ...INSECURE,
        WORKER_HOST: '127.0.0.1',
        WORKER_PORT: '0',
        WORKER_CONCURRENCY: '8',
        QUEUE_SHARDS: '4',
        WORKER_SHARDS: '0,3',
        WORKER_SLOW_CONCURRENCY: '4',
        RETRY_SCHEDULE: '1s, 2s',
        DELIVERY_TIMEOUT: '250ms',
        DELIVERY_CONNECT_TIMEOUT: '100ms',
        RESPONSE_BYTES_READ: '2048',
        RESPONSE_BYTES_KEPT: '0',
        DELIVERY_PROXY_URL: 'http://proxy.internal:3128',
        DELIVERY_ALLOWED_CIDRS: '10.1.0.0/16, ::1/128',
        DELIVERY_DENIED_CIDRS: '10.1.2.0/24',
        DISABLE_AFTER: 'never',
        DISABLE_FAILURE_SPAN: '90m',
        JOB_LOCK_DURATION: '3s',
        HISTORY_DATABASE_URL: 'postgresql:///events?host=/run/postgresql',
        HISTORY_MOVE_AFTER: '0s',
        HISTORY_RETENTION: '400d',
        MAX_EVENT_BYTES: '1024',
        SIGNATURE_HEADER: 'X-Acme-Signature',
        SIGNATURE_PREFIX: 'v0=',
      }),
    ).toMatchObject({
      WORKER_HOST: '127.0.0.1',
      WORKER_PORT: 0,
      WORKER_SHARDS: [0, 3],
      WORKER_CONCURRENCY: 8,
      WORKER_SLOW_CONCURRENCY: 4,
      RETRY_SCHEDULE: [1_000, 2_000],
      DELIVERY_TIMEOUT: 250,
      DELIVERY_CONNECT_TIMEOUT: 100,
      RESPONSE_BYTES_READ: 2_048,
      RESPONSE_BYTES_KEPT: 0,
      DELIVERY_PROXY_URL: { host: 'proxy.internal', port: 3128 },
      DELIVERY_ALLOWED_CIDRS: ['10.1.0.0/16', '::1/128'],
      DELIVERY_DENIED_CIDRS: ['10.1.2.0/24'],
      DISABLE_AFTER: 'never',
      DISABLE_FAILURE_SPAN: 90 * MINUTE,
      JOB_LOCK_DURATION: 3_000,
      HISTORY_DATABASE_URL: 'postgresql:///events?host=/run/postgresql',
      HISTORY_MOVE_AFTER: 0,
      HISTORY_RETENTION: 400 * 86_400_000,
      MAX_EVENT_BYTES: 1_024,
      SIGNATURE_HEADER: 'X-Acme-Signature',
      SIGNATURE_PREFIX: 'v0=',
    });
  });

  it('takes keys to seal secrets with, the one that seals first', () => {
    const keys = `${Buffer.alloc(32, 1).toString('base64')},${Buffer.alloc(32, 2).toString('base64')}`;
    const config = readWorkerConfig({ SECRETS_ENCRYPTION_KEY: keys });
    expect(config.SECRETS_ENCRYPTION_KEY.map(({ id }) => id)).toEqual(['72cd6e84', '75877bb4']);
  });

  it.each([
    ['former', '0s', 20_000],
    ['former', '60s', 60_000],
    ['current', '0s', 0],
    [undefined, '5s', 5_000],
  ])('with RECORD_FORM=%s and HISTORY_MOVE_AFTER=%s moves after %d ms', (RECORD_FORM, after, expected) => {
    const config = readWorkerConfig({ ...INSECURE, RECORD_FORM, HISTORY_MOVE_AFTER: after });
    expect(moveAfterOf(config)).toBe(expected);
  });

  it('tells receivers of traces only where there are some', () => {
    const told = { ...INSECURE, TRACEPARENT_TO_RECEIVERS: 'true' };
    expect(String(caughtFrom(() => readWorkerConfig(told)))).toContain(
      'TRACEPARENT_TO_RECEIVERS: needs traces: set OTEL_EXPORTER_OTLP_ENDPOINT too',
    );
    const traced = { ...told, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    expect(readWorkerConfig(traced).TRACEPARENT_TO_RECEIVERS).toBe(true);
  });

  it.each([undefined, 'development', 'test', 'production'])(
    'does not run without such a key and says how to make one, with NODE_ENV=%s',
    (NODE_ENV) => {
      const error = caughtFrom(() => readWorkerConfig({ NODE_ENV }));
      expect(error).toBeInstanceOf(ConfigError);
      const [, ...validationErrors] = (error as ConfigError).message.split('\n');
      expect(validationErrors).toEqual([
        expect.stringMatching(
          /^ {2}SECRETS_ENCRYPTION_KEY: must be set; .*openssl rand -base64 32.*INSECURE_/,
        ),
      ]);
    },
  );

  it.each([
    ['SECRETS_ENCRYPTION_KEY', 'secret'],
    ['INSECURE_UNENCRYPTED_SECRETS', 'yes'],
    ['NODE_ENV', 'prod'],
    ['NODE_ENV', 'staging'],
    ['NODE_ENV', 'Production'],
    ['WORKER_PORT', '65536'],
    ['WORKER_CONCURRENCY', '0'],
    ['WORKER_CONCURRENCY', '10001'],
    ['WORKER_CONCURRENCY', '2.5'],
    ['WORKER_SLOW_CONCURRENCY', '0'],
    ['RETRY_SCHEDULE', '5s,soon'],
    ['RETRY_SCHEDULE', '5'],
    ['RETENTION', '0s'],
    ['DELIVERY_TIMEOUT', '0s'],
    ['DELIVERY_CONNECT_TIMEOUT', '0s'],
    ['JOB_LOCK_DURATION', '0s'],
    ['DELIVERY_TIMEOUT', '15'],
    ['DELIVERY_CONNECT_TIMEOUT', '5'],
    ['RESPONSE_BYTES_READ', 'all'],
    ['RESPONSE_BYTES_KEPT', '16385'],
    ['RESPONSE_BYTES_KEPT', '1.5'],
    ['DELIVERY_PROXY_URL', 'socks5://user:password@proxy'],
    ['DELIVERY_ALLOWED_CIDRS', '10/8'],
    ['DELIVERY_DENIED_CIDRS', 'private'],
    ['DISABLE_AFTER', 'soon'],
    ['DISABLE_FAILURE_SPAN', 'never'],
    ['JOB_LOCK_DURATION', 'long'],
    ['HISTORY_DATABASE_URL', 'mysql://user:password@db/events'],
    ['HISTORY_DATABASE_URL', 'db/events'],
    ['HISTORY_MOVE_AFTER', 'soon'],
    ['HISTORY_RETENTION', '0d'],
    ['HISTORY_RETENTION', '36h'],
    ['HISTORY_RETENTION', '10001d'],
    ['MAX_EVENT_BYTES', '10'],
    ['SIGNATURE_HEADER', 'X Signature'],
    ['SIGNATURE_HEADER', 'X-Signature:'],
    ['SIGNATURE_HEADER', 'x'.repeat(65)],
    ['SIGNATURE_PREFIX', 'sha 256'],
    ['SIGNATURE_PREFIX', 'line\nfeed'],
    ['SIGNATURE_PREFIX', 'p'.repeat(33)],
  ])('refuses %s=%j in one line', (name, value) => {
    const error = caughtFrom(() => readWorkerConfig({ ...INSECURE, [name]: value }));
    expect(error).toBeInstanceOf(ConfigError);
    const [, ...validationErrors] = (error as ConfigError).message.split('\n');
    expect(validationErrors).toEqual([expect.stringMatching(new RegExp(`^ {2}${name}.*: .+`))]);
  });

  it('names every wrong variable at once', () => {
    const error = caughtFrom(() => readWorkerConfig({ WORKER_PORT: 'x', DELIVERY_TIMEOUT: 'y' }));
    expect(String(error).split('\n')).toHaveLength(3);
  });
});

it('has every setting that is compared with those of other processes, also while it is not set', () => {
  const config = readWorkerConfig(INSECURE);
  const all = new Proxy(config, { has: () => true });
  expect(Object.keys(digestsOf(config))).toEqual(Object.keys(digestsOf(all)));
  for (const name of Object.keys(digestsOf(all))) expect(workerSettings.shape).toHaveProperty(name);
});
