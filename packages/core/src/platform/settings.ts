import { readFileSync } from 'node:fs';
import { isRedisUrl } from '@hookferry/producer/contract';
import { z } from 'zod';
import { durationListSchema, durationSchema, positiveDurationSchema } from './duration';
import { parseUrl } from './parse-url';
import { REVISION_FORM } from './revision';
import { sealingKeysSchema } from './sealing-key';
import { inWords } from './zod-words';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment has a value that the process can't run with. The message has one line for each error. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Read a process's settings, once, at start-up. An empty variable counts as not set, and so does an empty file. `X_FILE` gives the path
 * of a file with the value of `X` (for secrets that are mounted as files).
 *
 * @throws ConfigError naming every wrong variable.
 */
export function readConfig<T extends z.ZodObject>(schema: T, environment: Environment): z.infer<T> {
  const lookups = Object.keys(schema.shape).map((name) => lookUp(name, environment));
  const parsed = schema.safeParse(
    Object.fromEntries(lookups.map(({ name, value }) => [name, value])),
    inWords,
  );
  const faulty = lookups.filter(({ fault }) => fault !== undefined);
  // It is set, so nobody may be told to set it, or how to do without it.
  const isFaulty = (name: PropertyKey | undefined) => faulty.some((each) => each.name === name);
  const validationErrors = [
    ...faulty.map(({ name, fault }) => `${name}: ${fault}`),
    ...(parsed.error?.issues ?? [])
      .filter(({ path }) => !isFaulty(path[0]))
      .map((issue) => `${issue.path.join('.')}: ${issue.message}`),
  ];
  if (parsed.success && validationErrors.length === 0) return parsed.data;
  throw new ConfigError(['The configuration is not valid:', ...validationErrors].join('\n  '));
}

interface Lookup {
  readonly name: string;
  readonly value?: string | undefined;
  readonly fault?: string;
}

function lookUp(name: string, environment: Environment): Lookup {
  const value = textOf(environment[name]);
  const path = textOf(environment[`${name}_FILE`]);
  if (path === undefined) return { name, value };
  if (value !== undefined) return { name, fault: `is set, and ${name}_FILE too: remove one of them` };
  return readSecretFile(name, path);
}

function textOf(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function readSecretFile(name: string, path: string): Lookup {
  try {
    return { name, value: textOf(readFileSync(path, 'utf8').trim()) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { name, fault: `${name}_FILE names ${path}, which can't be read (${code})` };
  }
}

/** Many more than the masters that one service can keep busy. Each costs an idle worker two connections. */
export const MAX_SHARDS = 64;

const ORIGIN_FORM = 'must be an origin such as https://app.example.com, without a path';

function isEntryUrl(text: string): boolean {
  const url = parseUrl(text.replaceAll('{path}', 'path').replaceAll('{account}', 'account'));
  return url !== undefined && /^https?:$/.test(url.protocol) && text.includes('{path}');
}

/** Such as `https://app.example.com`. */
export const originSchema = z
  .string()
  .refine(isOrigin, ORIGIN_FORM)
  .transform((text) => new URL(text).origin);

// Not `null`, a browser's name for a page without an origin, nor anything that a policy would read as several
// origins.
function isOrigin(text: string): boolean {
  const url = parseUrl(text);
  if (!url) return false;
  const { protocol, origin, pathname, search, hash, username } = url;
  const isWhole = pathname === '/' && search === '' && hash === '' && username === '';
  return /^https?:$/.test(protocol) && isWhole && /^[a-z]+:\/\/[\w.:[\]-]+$/.test(origin);
}

/** The settings that every process has; each process adds its own. */
export const commonSettings = {
  REDIS_URL: z
    .string()
    .refine(
      isRedisUrl,
      'must be redis://[user:password@]host[:port][/db], redis+sentinel://…host,host/master-name[/db] or ' +
        'redis+cluster://…host,host (rediss for TLS; the password percent-encoded)',
    )
    .default('redis://127.0.0.1:6379')
    .describe('also `rediss://`, `redis+sentinel://`, `redis+cluster://`'),
  QUEUE_SHARDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_SHARDS)
    .default(1)
    .describe(
      'shards of the queues, each on one node of a Redis Cluster: the same for all processes; the last one that starts decides',
    ),
  LOG_LEVEL: z
    .enum(['error', 'warn', 'info', 'debug'])
    .default('info')
    .describe(
      '`debug`: a line for each request and attempt; `info`: a line for each thing that went wrong, and for changes; `warn`, `error`',
    ),
  LOG_FORMAT: z
    .enum(['json', 'pretty'])
    .optional()
    .describe('`json`, or `pretty` for people; unless set, `pretty` on a terminal and `json` elsewhere'),
  RETENTION: positiveDurationSchema
    .prefault('14d')
    .describe('how long events and their deliveries are kept, and how long a delivery may be open'),
  RETENTION_COUNT: z.coerce
    .number()
    .int()
    .min(1)
    .default(100_000)
    .describe("how many deliveries a webhook's list holds, and how many events an account's"),
  RECORD_FORM: z
    .enum(['current', 'former'])
    .optional()
    .describe(
      'the form in which events and attempts are stored in Redis: `former` while processes of the version before run, see [upgrading](upgrading.md#upgrading); unless set, `current`',
    ),
  SCHEDULE_MAX: positiveDurationSchema
    .prefault('30d')
    .describe('how far ahead an event may be published to be [sent later](scheduled-events.md)'),
  // Enough for five million events of 1 KiB with a delivery each, and less than most installations' Redis can
  // hold: so usual traffic never reaches it, and one account alone does not fill it.
  ACCOUNT_QUOTA_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(10 * 1024 ** 3)
    .describe(
      'bytes that one account may store, unless an operator sets its own; `0`: as many as there is room for',
    ),
  PUBLIC_URL: originSchema
    .optional()
    .describe(
      'the origin by which browsers and receivers reach the API, such as `https://hooks.example.com`: links to the portal begin with it',
    ),
  PORTAL_ENTRY_URL: z
    .string()
    .refine(isEntryUrl, 'must be an http: or https: URL with {path} in it')
    .optional()
    .describe(
      'a page of yours that [signs its reader in to the portal](portal.md#the-way-in), such as `https://app.example.com/webhooks?to={path}`: messages and the sign-in page lead there. `{path}` is where in the portal, `{account}` the account; unless set, messages lead to the portal itself, which asks for a key',
    ),
  OPERATOR_NAME: z
    .string()
    .regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u, 'must be 1 to 100 characters without control characters')
    .optional()
    .describe(
      'your name, such as `Acme`, in [messages to contacts](notifications.md), in the portal and on [the page for receivers](receive.md); unless set, they name none',
    ),
  ENDPOINT_VERIFICATION: z
    .enum(['off', 'required'])
    .default('off')
    .describe(
      'whether a new or changed webhook gets events only after its receiver has [proved](endpoint-verification.md) that it wants them: `off` or `required`; an account may have a setting of its own',
    ),
  WEBHOOK_REQUEST_ORIGIN: z
    .string()
    .regex(
      /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/,
      'must be a name such as hooks.example.com',
    )
    .optional()
    .describe(
      'the name, such as `hooks.example.com`, by which this service asks receivers for permission in the way of CloudEvents; unless set, no webhook can be verified in that way',
    ),
  HOOKFERRY_REVISION: z
    .string()
    .regex(REVISION_FORM, 'must be 1 to 64 of A-Z a-z 0-9 . _ and -')
    .optional()
    .describe(
      'the commit that was built, to be told [beside the version](upgrading.md#which-version-runs); images have it; unless set, the one that `deploy/pack.sh` has noted',
    ),
  SHUTDOWN_TIMEOUT: durationSchema
    .prefault('20s')
    .describe('time to finish requests and attempts under way after SIGTERM'),
};

export const maxEventBytesSchema = z.coerce
  .number()
  .int()
  .min(1_024)
  .max(10 * 1024 * 1024)
  .default(256 * 1024)
  .describe('size of the largest event, as the body that is delivered');

export const portSchema = z.coerce.number().int().min(0).max(65_535);

/** `true` or `false`, spelled out: any other value is an error rather than a guess. */
export const flagSchema = z.enum(['true', 'false']).transform((text) => text === 'true');

/** By which workers deliver, and of which the API tells receivers. */
export const deliverySettings = {
  RETRY_SCHEDULE: durationListSchema
    .prefault('5s,5m,30m,2h,5h,10h,14h,20h,24h')
    .describe(
      'delays between attempts; there is one attempt more than delays. All of them, with their jitter, end within `RETENTION`. The API shows them at `/receive`',
    ),
  DELIVERY_TIMEOUT: positiveDurationSchema
    .prefault('15s')
    .describe(
      'time for a whole attempt, from the DNS query to the end of the response. The API shows it at `/receive`',
    ),
};

/** What must have happened before a process says that something is stored. */
export const confirmationSettings = {
  REDIS_CONFIRMED_BY: z.coerce
    .number()
    .int()
    .min(0)
    .max(10)
    .default(0)
    .describe(
      'how many replicas of Redis must have what a request has written before its [response](reliability.md#replicas-that-confirm): then no fail-over to them loses it. While fewer confirm within a second, the response is 503',
    ),
};

/** How the API and the workers protect secrets in the store. */
export const secretsSettings = {
  SECRETS_ENCRYPTION_KEY: sealingKeysSchema
    .default([])
    .describe(
      '**required**; seals secrets in Redis; `openssl rand -base64 32` makes one; of several, separated by commas, the first seals and all open',
    ),
  INSECURE_UNENCRYPTED_SECRETS: flagSchema
    .default(false)
    .describe('runs without that key, and stores secrets as plain text'),
  // Nothing depends on it. Any other text is most likely a typing error, or another product's convention.
  NODE_ENV: z
    .enum(['development', 'test', 'production'])
    .optional()
    .describe('`development`, `test` or `production`; anything else is refused'),
};

interface SecretsConfig {
  readonly SECRETS_ENCRYPTION_KEY: readonly unknown[];
  readonly INSECURE_UNENCRYPTED_SECRETS: boolean;
}

export function isProtected(config: SecretsConfig): boolean {
  return config.INSECURE_UNENCRYPTED_SECRETS || config.SECRETS_ENCRYPTION_KEY.length > 0;
}

export const UNPROTECTED = {
  path: ['SECRETS_ENCRYPTION_KEY'],
  message:
    'must be set; "openssl rand -base64 32" makes one, keep it safe ' +
    '(or set INSECURE_UNENCRYPTED_SECRETS=true to store secrets as plain text)',
};

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

const PAIRS_FORM = 'must be name=value,name=value, with special characters percent-encoded';

/** OpenTelemetry's form for headers and attributes: pairs separated by commas, percent-encoded. */
const pairsSchema = z.string().transform((text, context) => {
  const pairs: Record<string, string> = {};
  for (const pair of text.split(',')) {
    // A value may have more of them, for example at the end of Base64.
    const equals = pair.indexOf('=');
    if (equals < 1) {
      context.addIssue({ code: 'custom', message: PAIRS_FORM });
      return z.NEVER;
    }
    pairs[decoded(pair.slice(0, equals).trim())] = decoded(pair.slice(equals + 1).trim());
  }
  return pairs;
});

/** Whether and where traces are sent, by OpenTelemetry's own names. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be an http: or https: URL, such as http://127.0.0.1:4318' })
    .optional()
    .describe('the collector of [traces](tracing.md), `http://…:4318`; unless set, there are no traces'),
  OTEL_EXPORTER_OTLP_HEADERS: pairsSchema
    .optional()
    .describe('headers for the collector, such as a key: `name=value,name=value`, percent-encoded'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .literal('http/json', 'must be http/json: collectors take it at the port for http/protobuf')
    .default('http/json')
    .describe('how traces are sent; there is no other'),
  OTEL_SERVICE_NAME: z
    .string()
    .optional()
    .describe('the name of the service in traces; unless set, `hookferry-api` and `hookferry-worker`'),
  OTEL_RESOURCE_ATTRIBUTES: pairsSchema
    .optional()
    .describe('more attributes of all traces, in the same form as the headers'),
  OTEL_TRACES_SAMPLER: z
    .enum(samplers)
    .default('parentbased_always_on')
    .describe(
      'which traces are sent: `always_on`, `always_off` or `traceidratio`; with `parentbased_` in front, the caller decides if it sends a trace',
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('the ratio for `traceidratio`; `0.01`: one trace of a hundred'),
  OTEL_SDK_DISABLED: flagSchema.default(false).describe('`true`: no traces, whatever else is set'),
};

export type TracingConfig = z.infer<z.ZodObject<typeof tracingSettings>>;

// A value that is not encoded properly stands for itself: many authors don't know that values are encoded at
// all.
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
