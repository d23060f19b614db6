import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readApiConfig } from '../../apps/api/src/config';
import { readWorkerConfig } from '../../apps/worker/src/config';
import { readDefaults } from '../docker/read-defaults';
import { readDockerfile } from '../docker/read-dockerfile';
import { describeChart, PROJECT } from './chart-tools';
import { environmentOf, secondsOf } from './environment-of';
import { findObject, renderChart, valueAt } from './render-chart';
import { ALL, LEAST } from './sample-values';

const COMPONENTS = [
  { name: 'api', port: 3000, ...readDefaults(readApiConfig) },
  { name: 'worker', port: 3001, ...readDefaults(readWorkerConfig) },
] as const;

const stages = readDockerfile(readFileSync(join(PROJECT, 'docker/Dockerfile'), 'utf8'));

describeChart('the pods of the Helm chart', ({ helm }) => {
  const all = renderChart(helm, ALL);
  const least = renderChart(helm, LEAST);

  describe.each(COMPONENTS)('$name', ({ name, port, config, settings }) => {
    const deployment = findObject(all, 'Deployment', `hooks-hookferry-${name}`);
    const pod = valueAt(deployment, 'spec.template');
    const container = valueAt(pod, 'spec.containers.0');
    const environment = environmentOf(container);
    const labels = {
      'app.kubernetes.io/name': 'hookferry',
      'app.kubernetes.io/instance': 'hooks',
      'app.kubernetes.io/component': name,
    };

    it('runs the image that is built, on its port, as its user', () => {
      const image = stages.find((stage) => stage.name === name)?.instructions ?? [];
      expect(valueAt(container, 'image')).toBe(`registry.example.com/team/hookferry-${name}:1.2.3`);
      expect(image).toContainEqual({ kind: 'expose', port });
      expect(valueAt(container, 'ports')).toEqual([{ name: 'http', containerPort: port }]);
      expect(stages.find((stage) => stage.name === 'runtime')?.instructions).toContainEqual({
        kind: 'user',
        name: `${String(valueAt(pod, 'spec.securityContext.runAsUser'))}:1000`,
      });
    });

    it('meets the restricted pod security standard, and writes nowhere', () => {
      expect(valueAt(pod, 'spec.securityContext')).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(valueAt(container, 'securityContext')).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(valueAt(pod, 'spec.automountServiceAccountToken')).toBe(false);
    });

    it('is asked whether it lives, and apart from that whether it is ready', () => {
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz', port: 'http' } },
        livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
      });
    });

    it('gets longer to stop than it may take', () => {
      const drain = secondsOf(environment.DRAIN_DELAY ?? '0s');
      const grace = Number(valueAt(pod, 'spec.terminationGracePeriodSeconds'));
      expect(grace - drain).toBeGreaterThan(secondsOf(environment.SHUTDOWN_TIMEOUT) + 5);
      expect(secondsOf(environment.SHUTDOWN_TIMEOUT)).toBe(config.SHUTDOWN_TIMEOUT / 1_000);
      expect(drain).toBe('DRAIN_DELAY' in config ? config.DRAIN_DELAY / 1_000 : 0);
    });

    it('is given only settings that it knows', () => {
      const names = Object.keys(environment)
        .map((setting) => setting.replace(/_FILE$/, ''))
        .filter((setting) => setting !== 'NODE_EXTRA_CA_CERTS');
      expect(names.filter((setting) => !settings.has(setting))).toEqual([]);
      expect(environment).toMatchObject({
        LOG_LEVEL: 'warn',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel-collector.monitoring.svc:4318',
      });
      expect(environment.TRACEPARENT_TO_RECEIVERS).toBe(name === 'worker' ? 'true' : undefined);
    });

    it('reads its secrets from files that are mounted', () => {
      const files = Object.entries(environment).filter(([setting]) => setting.endsWith('_FILE'));
      const mounted = valueAt(pod, 'spec.volumes.0.secret.items') as { key: string; path: string }[];
      expect(files.map(([, path]) => path)).toEqual(
        mounted.map(({ path }) => `/run/secrets/hookferry/${path}`),
      );
      expect(files.map(([setting]) => setting)).toEqual(
        expect.arrayContaining(['REDIS_URL_FILE', 'OTEL_EXPORTER_OTLP_HEADERS_FILE']),
      );
      expect(valueAt(container, 'volumeMounts')).toEqual([
        { name: 'secrets', mountPath: '/run/secrets/hookferry', readOnly: true },
        { name: 'authority', mountPath: '/etc/authority', readOnly: true },
      ]);
    });

    it('has the files of an authority of yours, where Node.js is told to look for them', () => {
      expect(valueAt(pod, 'spec.volumes.1')).toEqual({
        name: 'authority',
        configMap: { name: 'company-authority' },
      });
      expect(environment.NODE_EXTRA_CA_CERTS).toMatch(/^\/etc\/authority\//);
    });

    it('is spread over zones and machines', () => {
      const rule = {
        maxSkew: 1,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: labels },
      };
      expect(valueAt(pod, 'spec.topologySpreadConstraints')).toEqual([
        { ...rule, topologyKey: 'topology.kubernetes.io/zone' },
        { ...rule, topologyKey: 'kubernetes.io/hostname' },
      ]);
    });

    it.each([
      ['Deployment', 'spec.selector.matchLabels'],
      ['Service', 'spec.selector'],
      ['PodDisruptionBudget', 'spec.selector.matchLabels'],
      ['NetworkPolicy', 'spec.podSelector.matchLabels'],
      ['ServiceMonitor', 'spec.selector.matchLabels'],
    ])('is what its %s is about', (kind, path) => {
      expect(valueAt(findObject(all, kind, `hooks-hookferry-${name}`), path)).toEqual(labels);
      expect(valueAt(pod, 'metadata.labels')).toMatchObject(labels);
    });

    it('loses one pod at a time when nodes are emptied, and none when it is updated', () => {
      const budget = findObject(all, 'PodDisruptionBudget', `hooks-hookferry-${name}`);
      expect(valueAt(budget, 'spec.maxUnavailable')).toBe(1);
      expect(valueAt(deployment, 'spec.strategy.rollingUpdate.maxUnavailable')).toBe(0);
    });

    it('is scraped as the job that the alerts know', () => {
      const { endpoints } = findObject(all, 'ServiceMonitor', `hooks-hookferry-${name}`).spec as {
        endpoints: unknown[];
      };
      const jobs = parse(readFileSync(join(PROJECT, 'docker/prometheus/prometheus.yml'), 'utf8')) as {
        scrape_configs: { job_name: string }[];
      };
      expect(jobs.scrape_configs.map((job) => job.job_name)).toContain(`hookferry-${name}`);
      expect(endpoints).toMatchObject([
        {
          port: 'http',
          path: '/metrics',
          relabelings: [
            { targetLabel: 'job', replacement: `hookferry-${name}` },
            { targetLabel: 'release', replacement: 'shop/hooks-hookferry' },
          ],
        },
      ]);
      const service = findObject(all, 'Service', `hooks-hookferry-${name}`);
      expect(valueAt(service, 'spec.ports.0')).toMatchObject({ name: 'http', targetPort: 'http' });
    });
  });

  it('stops a worker after its deliveries can have ended', () => {
    const worker = findObject(least, 'Deployment', 'hooks-hookferry-worker');
    const environment = environmentOf(valueAt(worker, 'spec.template.spec.containers.0'));
    expect(secondsOf(environment.SHUTDOWN_TIMEOUT)).toBeGreaterThan(secondsOf(environment.DELIVERY_TIMEOUT));
    expect(secondsOf(environment.DELIVERY_TIMEOUT)).toBe(COMPONENTS[1].config.DELIVERY_TIMEOUT / 1_000);
  });

  it('tells both where the history is, by a file, and the worker alone how long it is kept', () => {
    const [api, worker] = ['api', 'worker'].map((name) => {
      const deployment = findObject(all, 'Deployment', `hooks-hookferry-${name}`);
      return environmentOf(valueAt(deployment, 'spec.template.spec.containers.0'));
    });
    const file = { HISTORY_DATABASE_URL_FILE: '/run/secrets/hookferry/history-database-url' };
    expect(api).toMatchObject(file);
    expect(worker).toMatchObject({ ...file, HISTORY_MOVE_AFTER: '5m', HISTORY_RETENTION: '30d' });
    expect(Object.keys(api ?? {}).filter((name) => name.startsWith('HISTORY_'))).toEqual(Object.keys(file));
  });
});
