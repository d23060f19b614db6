import { ConfigError, commonSettings } from '@hookferry/core/platform/settings';
import { buildApiKey } from '@hookferry/core/testing/build-api-key';
import { caughtFrom } from '@hookferry/core/testing/caught-from';
import { z } from 'zod';
import { portalSettings, readApiConfig } from './config';

const DEFAULT_RETRIES_MS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map(
  (s) => s * 1_000,
);

describe('config', () => {
  const INSECURE = { INSECURE_UNENCRYPTED_SECRETS: 'true' };

  describe('readApiConfig', () => {
    it('has the documented defaults', () => {
      expect(readApiConfig(INSECURE)).toEqual({
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_TRACES_SAMPLER: 'parentbased_always_on',
        OTEL_TRACES_SAMPLER_ARG: 1,
        OTEL_SDK_DISABLED: false,
        REDIS_URL: 'redis://127.0.0.1:6379',
        QUEUE_SHARDS: 1,
        LOG_LEVEL: 'info',
        RETENTION: 14 * 86_400_000,
        RETENTION_COUNT: 100_000,
        ACCOUNT_QUOTA_BYTES: 10 * 1024 ** 3,
        SHUTDOWN_TIMEOUT: 20_000,
        API_HOST: '0.0.0.0',
        API_PORT: 3000,
        ALLOW_HTTP_URLS: false,
        DELIVERY_ALLOWED_CIDRS: [],
        DELIVERY_DENIED_CIDRS: [],
        SECRETS_ENCRYPTION_KEY: [],
        INSECURE_UNENCRYPTED_SECRETS: true,
        MAX_EVENT_BYTES: 256 * 1024,
        MAX_WEBHOOKS: 500,
        SIGNING_KEY_LEAD: 86_400_000,
        SOURCE_ADDRESSES: [],
        TRANSFORM_TIMEOUT: 50,
        ENDPOINT_VERIFICATION: 'off',
        SCHEDULE_MAX: 30 * 86_400_000,
        RETRY_SCHEDULE: DEFAULT_RETRIES_MS,
        DELIVERY_TIMEOUT: 15_000,
        RECEIVE_PAGE: true,
        TRANSFORM_MEMORY_MB: 16,
        AUDIT_COUNT: 10_000,
        BUILT_IN_EVENT_TYPES: true,
        AUDIT_RETENTION: 365 * 86_400_000,
        DISABLE_AFTER: 5 * 86_400_000,
        DISABLE_FAILURE_SPAN: 43_200_000,
        RATE_LIMIT: { count: 10_000, windowMs: 1_000 },
        ACCOUNT_RATE_LIMIT: 'same',
        AUTH_FAILURE_LIMIT: { count: 20, windowMs: 60_000 },
        MAX_CONNECTIONS: 10_000,
        TRUST_PROXY: 0,
        DOCS_ENABLED: true,
        DRAIN_DELAY: 5_000,
        QUEUE_INSPECTOR_ENABLED: false,
        PORTAL: true,
        PORTAL_FRAME_ANCESTORS: [],
        PORTAL_ALLOWED_ORIGINS: [],
        REDIS_CONFIRMED_BY: 0,
        INTAKE: 'redis',
        PORTAL_SESSION_STORAGE: 'memory',
      });
    });

    it('takes what is set', () => {
      const { key } = buildApiKey();
      expect(
        readApiConfig({
          ...INSECURE,
          REDIS_URL: 'rediss+sentinel://:secret@one,two/hooks',
          QUEUE_SHARDS: '6',
          LOG_LEVEL: 'debug',
          LOG_FORMAT: 'pretty',
          RETENTION: '3d',
          RETENTION_COUNT: '10',
          ACCOUNT_QUOTA_BYTES: '0',
          SHUTDOWN_TIMEOUT: '5s',
          API_HOST: '127.0.0.1',
          API_PORT: '0',
          BOOTSTRAP_API_KEY: key,
          ALLOW_HTTP_URLS: 'true',
          DELIVERY_ALLOWED_CIDRS: '10.1.0.0/16, ::1/128',
          DELIVERY_DENIED_CIDRS: '10.1.2.0/24',
          MAX_EVENT_BYTES: '2048',
          RATE_LIMIT: 'off',
          ACCOUNT_RATE_LIMIT: '9/1m',
          AUTH_FAILURE_LIMIT: '5/10s',
          SIGNING_KEY_LEAD: '2h',
          SOURCE_ADDRESSES: '203.0.113.0/28,2001:db8::/48',
          MAX_CONNECTIONS: '100',
          TRUST_PROXY: '10.1.0.0/16',
          DOCS_ENABLED: 'false',
          DRAIN_DELAY: '0s',
          QUEUE_INSPECTOR_ENABLED: 'true',
          PORTAL: 'false',
          PORTAL_FRAME_ANCESTORS: 'https://app.example.com,http://localhost:8080',
          PORTAL_ALLOWED_ORIGINS: 'https://app.example.com',
          REDIS_CONFIRMED_BY: '2',
          PUBLIC_URL: 'https://hooks.example.com',
          SOURCE: 'urn:example:hooks',
        }),
      ).toEqual({
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_TRACES_SAMPLER: 'parentbased_always_on',
        OTEL_TRACES_SAMPLER_ARG: 1,
        OTEL_SDK_DISABLED: false,
        REDIS_URL: 'rediss+sentinel://:secret@one,two/hooks',
        QUEUE_SHARDS: 6,
        LOG_LEVEL: 'debug',
        LOG_FORMAT: 'pretty',
        RETENTION: 3 * 86_400_000,
        RETENTION_COUNT: 10,
        ACCOUNT_QUOTA_BYTES: 0,
        SHUTDOWN_TIMEOUT: 5_000,
        API_HOST: '127.0.0.1',
        API_PORT: 0,
        BOOTSTRAP_API_KEY: key,
        ALLOW_HTTP_URLS: true,
        DELIVERY_ALLOWED_CIDRS: ['10.1.0.0/16', '::1/128'],
        DELIVERY_DENIED_CIDRS: ['10.1.2.0/24'],
        MAX_EVENT_BYTES: 2_048,
        SECRETS_ENCRYPTION_KEY: [],
        INSECURE_UNENCRYPTED_SECRETS: true,
        MAX_WEBHOOKS: 500,
        SIGNING_KEY_LEAD: 7_200_000,
        TRANSFORM_TIMEOUT: 50,
        ENDPOINT_VERIFICATION: 'off',
        SCHEDULE_MAX: 30 * 86_400_000,
        RETRY_SCHEDULE: DEFAULT_RETRIES_MS,
        DELIVERY_TIMEOUT: 15_000,
        RECEIVE_PAGE: true,
        TRANSFORM_MEMORY_MB: 16,
        AUDIT_COUNT: 10_000,
        BUILT_IN_EVENT_TYPES: true,
        AUDIT_RETENTION: 365 * 86_400_000,
        DISABLE_AFTER: 5 * 86_400_000,
        DISABLE_FAILURE_SPAN: 43_200_000,
        SOURCE_ADDRESSES: ['203.0.113.0/28', '2001:db8::/48'],
        RATE_LIMIT: undefined,
        ACCOUNT_RATE_LIMIT: { count: 9, windowMs: 60_000 },
        AUTH_FAILURE_LIMIT: { count: 5, windowMs: 10_000 },
        MAX_CONNECTIONS: 100,
        TRUST_PROXY: ['10.1.0.0/16'],
        DOCS_ENABLED: false,
        DRAIN_DELAY: 0,
        QUEUE_INSPECTOR_ENABLED: true,
        PORTAL: false,
        PORTAL_FRAME_ANCESTORS: ['https://app.example.com', 'http://localhost:8080'],
        PORTAL_ALLOWED_ORIGINS: ['https://app.example.com'],
        REDIS_CONFIRMED_BY: 2,
        INTAKE: 'redis',
        PORTAL_SESSION_STORAGE: 'memory',
        PUBLIC_URL: 'https://hooks.example.com',
        SOURCE: 'urn:example:hooks',
      });
    });

    it('takes keys to seal secrets with, the one that seals first', () => {
      const keys = `${Buffer.alloc(32, 1).toString('base64')},${Buffer.alloc(32, 2).toString('base64')}`;
      const config = readApiConfig({ SECRETS_ENCRYPTION_KEY: keys });
      expect(config.SECRETS_ENCRYPTION_KEY.map(({ id }) => id)).toEqual(['72cd6e84', '75877bb4']);
    });

    it.each([undefined, 'development', 'test', 'production'])(
      'does not run without such a key and says how to make one, with NODE_ENV=%s',
      (NODE_ENV) => {
        const error = caughtFrom(() => readApiConfig({ NODE_ENV }));
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
      ['INTAKE', 'postgres'],
      ['INTAKE', 'durable'],
      ['REDIS_URL', 'http://cache'],
      ['REDIS_URL', 'redis://cache/notadb'],
      ['LOG_LEVEL', 'loud'],
      ['LOG_FORMAT', 'xml'],
      ['RETENTION', '14'],
      ['RETENTION_COUNT', '0'],
      ['RETENTION_COUNT', 'many'],
      ['ACCOUNT_QUOTA_BYTES', '-1'],
      ['ACCOUNT_QUOTA_BYTES', '10GiB'],
      ['SHUTDOWN_TIMEOUT', 'soon'],
      ['API_PORT', '65536'],
      ['API_PORT', '-1'],
      ['API_PORT', 'http'],
      ['BOOTSTRAP_API_KEY', 'secret'],
      ['ALLOW_HTTP_URLS', 'yes'],
      ['ALLOW_HTTP_URLS', '1'],
      ['DELIVERY_ALLOWED_CIDRS', '10/8'],
      ['DELIVERY_ALLOWED_CIDRS', '10.0.0.0/8,private'],
      ['DELIVERY_DENIED_CIDRS', '10.0.0.0/33'],
      ['MAX_EVENT_BYTES', '1023'],
      ['MAX_EVENT_BYTES', '10485761'],
      ['MAX_EVENT_BYTES', '1.5e3.1'],
      ['RATE_LIMIT', '1000'],
      ['ACCOUNT_RATE_LIMIT', '1000'],
      ['AUTH_FAILURE_LIMIT', 'none'],
      ['SIGNING_KEY_LEAD', '24'],
      ['SOURCE_ADDRESSES', '203.0.113.7'],
      ['MAX_CONNECTIONS', '0'],
      ['TRUST_PROXY', 'true'],
    ])('refuses %s=%s in one line', (name, value) => {
      const error = caughtFrom(() => readApiConfig({ ...INSECURE, [name]: value }));
      expect(error).toBeInstanceOf(ConfigError);
      const [, ...validationErrors] = (error as ConfigError).message.split('\n');
      expect(validationErrors).toEqual([expect.stringMatching(new RegExp(`^ {2}${name}.*: .+`))]);
    });

    it('repeats no secret that it refuses', () => {
      const error = caughtFrom(() =>
        readApiConfig({ ...INSECURE, BOOTSTRAP_API_KEY: 's3cr3t', REDIS_URL: 'http://:s3cr3t@cache' }),
      );
      expect(String(error)).not.toContain('s3cr3t');
      expect(String(error).split('\n')).toHaveLength(3);
    });
  });
});

describe('portal settings', () => {
  const schema = z.object({ ...portalSettings, PUBLIC_URL: commonSettings.PUBLIC_URL });

  it('takes origins, one or several, as browsers write them', () => {
    const given = {
      PORTAL_FRAME_ANCESTORS:
        ' https://App.example.com/ ,http://localhost:8080,, https://xn--bcher-kva.example:443',
      PUBLIC_URL: 'https://hooks.example.com/',
    };
    expect(schema.parse(given)).toEqual({
      PORTAL: true,
      PORTAL_FRAME_ANCESTORS: [
        'https://app.example.com',
        'http://localhost:8080',
        'https://xn--bcher-kva.example',
      ],
      PORTAL_ALLOWED_ORIGINS: [],
      PORTAL_SESSION_STORAGE: 'memory',
      PUBLIC_URL: 'https://hooks.example.com',
    });
  });

  it.each(['https://app.example.com/', 'ftp://app.example.com/{path}', 'app.example.com/{path}', '{path}'])(
    'takes no way in that leads nowhere: %s',
    (url) => {
      const entry = z.object({ PORTAL_ENTRY_URL: commonSettings.PORTAL_ENTRY_URL });
      expect(entry.safeParse({ PORTAL_ENTRY_URL: url }).success).toBe(false);
      const right = { PORTAL_ENTRY_URL: 'https://app.example.com/w?account={account}&to={path}' };
      expect(entry.parse(right)).toEqual(right);
    },
  );

  it.each([
    '*',
    'null',
    "'self'",
    'app.example.com',
    'https:',
    'https://*.example.com',
    'https://app.example.com/page',
    'https://app.example.com?x',
    'https://user@app.example.com',
    'https://app.example.com; script-src *',
    'https://app.example.com https://evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
  ])('refuses %s, which is no origin', (origin) => {
    expect(schema.safeParse({ PORTAL_FRAME_ANCESTORS: origin }).error?.issues[0]?.message).toContain(
      'must be an origin such as https://app.example.com',
    );
    expect(schema.safeParse({ PUBLIC_URL: origin }).success).toBe(false);
  });
});
