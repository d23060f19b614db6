import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { apiSettings, readApiConfig } from '../../apps/api/src/config';
import { readWorkerConfig, workerSettings } from '../../apps/worker/src/config';
import { BARE, readDefaults } from './read-defaults';
import { readDockerfile } from './read-dockerfile';

const DOCKER = join(__dirname, '..', '..', 'docker');

/** What every service has: a bound on its memory, and on what Docker keeps of its output. */
const bounded = {
  mem_limit: z.string().regex(/^(\d+[mg]|\$\{[A-Z]+_MEMORY_LIMIT:-\d+[mg]\})$/),
  logging: z.strictObject({
    driver: z.literal('json-file'),
    options: z.strictObject({
      'max-size': z.string().regex(/^\d+m$/),
      'max-file': z.string().regex(/^\d+$/),
    }),
  }),
};

const processSchema = z.object({
  ...bounded,
  build: z.strictObject({
    context: z.string(),
    dockerfile: z.string(),
    target: z.string(),
    args: z.strictObject({ REVISION: z.literal('${REVISION:-}') }),
  }),
  environment: z.record(z.string(), z.string().nullable()),
  secrets: z.array(z.string()),
  ports: z.array(z.string()).optional(),
  container_name: z.string().optional(),
  stop_grace_period: z.string().regex(/^\d+s$/),
  init: z.literal(true),
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.array(z.string()),
  depends_on: z.object({ redis: z.object({ condition: z.literal('service_healthy') }) }),
});

const composeSchema = z.object({
  services: z.strictObject({
    api: processSchema,
    worker: processSchema,
    redis: z.object({
      ...bounded,
      image: z.string(),
      command: z.array(z.string()),
      volumes: z.array(z.string()),
      healthcheck: z.object({ test: z.array(z.string()) }),
    }),
    postgres: z.object({
      ...bounded,
      profiles: z.tuple([z.literal('history')]),
      image: z.string(),
      environment: z.record(z.string(), z.string()),
      volumes: z.array(z.string()),
      stop_grace_period: z.literal('60s'),
      healthcheck: z.object({ test: z.array(z.string()) }),
      // It is reached by the others alone.
      ports: z.never().optional(),
    }),
    prometheus: z.object({
      ...bounded,
      image: z.string(),
      volumes: z.array(z.string()),
      environment: z.strictObject({ RUNBOOK_URL: z.string() }),
      entrypoint: z.tuple([z.literal('/bin/sh'), z.literal('-ec')]),
      command: z.tuple([z.string()]),
    }),
    grafana: z.object({
      ...bounded,
      image: z.string(),
      volumes: z.array(z.string()),
      ports: z.array(z.string().startsWith('127.0.0.1:')),
    }),
  }),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
  volumes: z.record(z.string(), z.null()),
});

const { services, secrets, volumes } = composeSchema.parse(readYaml('compose.yaml'));
const stages = readDockerfile(readFileSync(join(DOCKER, 'Dockerfile'), 'utf8'));

const processes = [
  { name: 'api', service: services.api, shape: apiSettings.shape, ...readDefaults(readApiConfig) },
  {
    name: 'worker',
    service: services.worker,
    shape: workerSettings.shape,
    ...readDefaults(readWorkerConfig),
  },
] as const;

/** What containers have in one way alone: addresses and ports of their own, the image's NODE_ENV and commit, and a key that seals. */
const NOT_TO_BE_SET = new Set([
  'HOOKFERRY_REVISION',
  'API_HOST',
  'API_PORT',
  'WORKER_HOST',
  'WORKER_PORT',
  'NODE_ENV',
  'INSECURE_UNENCRYPTED_SECRETS',
]);

describe.each(processes)('compose.yaml: $name', ({ name, service, shape, config, settings }) => {
  it('is built from its target in the Dockerfile', () => {
    const { context, dockerfile, target } = service.build;
    expect(target).toBe(name);
    expect(stages.map((stage) => stage.name)).toContain(target);
    expect(statSync(join(DOCKER, context, dockerfile)).isFile()).toBe(true);
  });

  it('is given only settings that it knows', () => {
    expect(Object.keys(service.environment).filter((setting) => !settings.has(setting))).toEqual([]);
  });

  it('is given each setting of traces that is set where Compose runs', () => {
    const ofTraces = [...settings].filter((setting) => /^(OTEL_|TRACEPARENT_)(?!.*_FILE$)/.test(setting));
    expect(ofTraces.filter((setting) => service.environment[setting] !== null)).toEqual([]);
    expect(ofTraces).toContain('OTEL_EXPORTER_OTLP_ENDPOINT');
  });

  it('can be given every setting that it knows, where Compose runs', () => {
    const isPassedOn = (setting: string) => {
      const value = service.environment[setting];
      return (
        value === null || value?.startsWith(`\${${setting}:-`) || `${setting}_FILE` in service.environment
      );
    };
    const wanted = Object.keys(shape).filter((setting) => !NOT_TO_BE_SET.has(setting));
    expect(wanted.filter((setting) => !isPassedOn(setting))).toEqual([]);
    expect(wanted.length).toBeGreaterThan(40);
  });

  it('reads its secrets from files, and only those that it needs', () => {
    const files = Object.entries(service.environment).filter(([setting]) => setting.endsWith('_FILE'));
    expect(files.map(([, path]) => path)).toEqual(service.secrets.map((secret) => `/run/secrets/${secret}`));
    expect(service.secrets.filter((secret) => !(secret in secrets))).toEqual([]);
    expect(service.secrets.includes('bootstrap-api-key')).toBe(name === 'api');
  });

  it('gets longer to stop than it may take', () => {
    const drainMs = 'DRAIN_DELAY' in config ? config.DRAIN_DELAY : 0;
    const graceMs = Number.parseInt(service.stop_grace_period, 10) * 1_000;
    expect(graceMs).toBeGreaterThan(drainMs + config.SHUTDOWN_TIMEOUT);
  });
});

describe('compose.yaml', () => {
  it('publishes the port that the API listens on, to this machine alone', () => {
    const port = readApiConfig(BARE).API_PORT;
    expect(services.api.ports).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(exposedBy('api')).toEqual([port]);
  });

  it('leaves nothing in the way of more workers', () => {
    expect(services.worker.container_name ?? services.worker.ports).toBeUndefined();
    expect(exposedBy('worker')).toEqual([readWorkerConfig(BARE).WORKER_PORT]);
  });

  it('bounds the memory of Redis, below that of its container, and refuses writes beyond it', () => {
    const { command, mem_limit } = services.redis;
    expect(command.slice(-2)).toEqual(['--maxmemory', '${REDIS_MAXMEMORY:-1gb}']);
    expect(mem_limit).toBe('${REDIS_MEMORY_LIMIT:-2g}');
    const file = readFileSync(join(DOCKER, 'redis.conf'), 'utf8');
    expect(file).toMatch(/^maxmemory-policy noeviction$/m);
    expect(file).toMatch(/^maxmemory 1gb$/m);
  });

  it('keeps its secrets in files that git does not see', () => {
    const files = Object.values(secrets).map(({ file }) => file);
    expect(files.map((file) => file.replace('${SECRETS_FOLDER:-./secrets}/', ''))).toEqual(
      Object.keys(secrets),
    );
    const ignored = readFileSync(join(DOCKER, '../.gitignore'), 'utf8').split('\n');
    expect(ignored).toContain('docker/secrets/');
  });

  it('mounts only files that exist and volumes that it declares', () => {
    const mounts = [services.redis, services.postgres, services.prometheus, services.grafana].flatMap(
      (each) => each.volumes,
    );
    const sources = mounts.map((mount) => mount.split(':')[0] ?? '');
    const files = sources.filter((source) => source.startsWith('./'));
    expect(files.filter((file) => !existsSync(join(DOCKER, file)))).toEqual([]);
    expect(sources.filter((source) => !files.includes(source))).toEqual(Object.keys(volumes));
  });
});

it('compose.yaml has each alert lead to the runbook at the address that is set', () => {
  const [script] = services.prometheus.command;
  const folder = mkdtempSync(join(tmpdir(), 'rules-'));
  const here = script
    .replaceAll('$$', '$')
    .replaceAll('/tmp/', `${folder}/`)
    .replaceAll('/etc/prometheus', join(DOCKER, 'prometheus'))
    .replace('exec /bin/prometheus', 'echo');
  const RUNBOOK_URL = 'https://git.example.com/team/webhooks/blob/main/';
  const env = { ...process.env, RUNBOOK_URL };
  const flags = execFileSync('/bin/sh', ['-ec', here], { env, encoding: 'utf8' });
  expect(flags).toContain(`--config.file=${folder}/prometheus.yml`);
  const packaged = readFileSync(join(DOCKER, 'prometheus/alerts.yml'), 'utf8');
  expect(readFileSync(join(folder, 'alerts.yml'), 'utf8')).toBe(
    packaged.replaceAll('runbook_url: docs/', `runbook_url: ${RUNBOOK_URL}docs/`),
  );
  expect(readFileSync(join(folder, 'prometheus.yml'), 'utf8')).toContain('- alerts.yml');
  rmSync(folder, { recursive: true });
  expect(services.prometheus.environment.RUNBOOK_URL).toMatch(/^\$\{RUNBOOK_URL:-https:.*\/\}$/);
});

describe('compose.yaml: the profile history', () => {
  const { environment } = services.postgres;

  it('is of PostgreSQL alone', () => {
    const withProfiles = Object.entries(services).filter(([, service]) => 'profiles' in service);
    expect(withProfiles.map(([name]) => name)).toEqual(['postgres']);
  });

  it.each(processes)('has the $name find its PostgreSQL, once there is a password', ({ service }) => {
    const url = new URL(historyUrlOf(service, { POSTGRES_PASSWORD: 's3cret' }));
    expect(readWorkerConfig({ ...BARE, HISTORY_DATABASE_URL: url.href }).HISTORY_DATABASE_URL).toBe(url.href);
    expect([url.username, url.password, url.host, url.pathname]).toEqual([
      environment['POSTGRES_USER'],
      interpolated(environment['POSTGRES_PASSWORD'], { POSTGRES_PASSWORD: 's3cret' }),
      'postgres:5432',
      `/${environment['POSTGRES_DB']}`,
    ]);
  });

  it.each(processes)(
    'leaves the $name without a history where nothing is set, or with one of yours',
    ({ service }) => {
      const none = historyUrlOf(service, {});
      expect(readWorkerConfig({ ...BARE, HISTORY_DATABASE_URL: none }).HISTORY_DATABASE_URL).toBeUndefined();
      const yours = { HISTORY_DATABASE_URL: 'postgresql://db/yours', POSTGRES_PASSWORD: 's3cret' };
      expect(historyUrlOf(service, yours)).toBe('postgresql://db/yours');
    },
  );

  it('asks PostgreSQL over TCP whether it is healthy, as the user that there is', () => {
    const { test } = services.postgres.healthcheck;
    expect(test).toContain('--host=127.0.0.1');
    expect(test).toContain(`--username=${environment['POSTGRES_USER']}`);
  });

  type Variables = Readonly<Record<string, string>>;

  function historyUrlOf(service: z.infer<typeof processSchema>, variables: Variables): string {
    return interpolated(service.environment['HISTORY_DATABASE_URL'] ?? '', variables);
  }

  // These forms mean the same in a shell.
  function interpolated(text: string | undefined, variables: Variables): string {
    return execFileSync('sh', ['-c', `printf %s "${text}"`], { env: variables, encoding: 'utf8' });
  }
});

// Of the API and of the worker, which are built.
const OWN_IMAGES = 2;

describe('images that others make', () => {
  const ownStages = stages.map(({ name }) => name);
  const bases = stages.map(({ from }) => from).filter((from) => !ownStages.includes(from));

  const others = [services.redis, services.postgres, services.prometheus, services.grafana].map(
    ({ image }) => image,
  );

  it('are all looked at', () => {
    const named = readFileSync(join(DOCKER, 'compose.yaml'), 'utf8').match(/^\s+image: \S+/gm);
    expect([bases.length, others.length + OWN_IMAGES]).toEqual([1, named?.length]);
  });

  // A tag can be moved to other bytes; the digest of an index is good for all platforms.
  it.each([...bases, ...others])('%s is one exact version, by its digest', (image) => {
    // PostgreSQL's versions have two numbers.
    const version = image.startsWith('postgres:')
      ? /^postgres:\d+\.\d+(-[\w.-]+)?@/
      : /:v?\d+\.\d+\.\d+(-[\w.-]+)?@/;
    expect(image).toMatch(version);
    expect(image).toMatch(/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
  });

  it('run on a Node.js that package.json says is supported', () => {
    const { engines } = parse(readFileSync(join(DOCKER, '../package.json'), 'utf8')) as {
      engines: { node: string };
    };
    const major = /^node:(\d+)\./.exec(bases[0] ?? '')?.[1];
    expect(engines.node).toMatch(new RegExp(`(\\^|>=)${major}\\b`));
  });
});

describe('prometheus.yml', () => {
  it('scrapes the API and every worker', () => {
    expect(readYaml('prometheus/prometheus.yml')).toMatchObject({
      rule_files: ['alerts.yml'],
      scrape_configs: [
        { job_name: 'hookferry-api', static_configs: [{ targets: [`api:${readApiConfig(BARE).API_PORT}`] }] },
        {
          job_name: 'hookferry-worker',
          dns_sd_configs: [{ names: ['worker'], type: 'A', port: readWorkerConfig(BARE).WORKER_PORT }],
        },
      ],
    });
  });
});

function exposedBy(target: string): number[] {
  const instructions = stages.find(({ name }) => name === target)?.instructions ?? [];
  return instructions.flatMap((step) => (step.kind === 'expose' ? [step.port] : []));
}

// With `merge` for the `<<` of YAML 1.1, which Compose understands too.
function readYaml(path: string): unknown {
  return parse(readFileSync(join(DOCKER, path), 'utf8'), { merge: true });
}
