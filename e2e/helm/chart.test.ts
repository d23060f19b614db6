import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describeChart, PROJECT } from './chart-tools';
import { findObject, renderChart, renderNotes, type Values, valueAt } from './render-chart';
import { ALL, LEAST } from './sample-values';

const ENV = 'spec.template.spec.containers.0.env';
const WITHOUT_PORTAL = {
  ...LEAST,
  api: {
    portal: { enabled: false },
    publicUrl: 'https://hooks.example.com',
    ingress: { enabled: true, host: 'webhooks.example.com' },
  },
};

describeChart('the Helm chart', ({ helm }) => {
  const least = renderChart(helm, LEAST);
  const all = renderChart(helm, ALL);

  it('gives every object the labels that Kubernetes recommends', () => {
    for (const { metadata } of all) {
      expect(metadata.labels).toMatchObject({
        'app.kubernetes.io/name': 'hookferry',
        'app.kubernetes.io/instance': 'hooks',
        'app.kubernetes.io/managed-by': 'Helm',
      });
    }
  });

  it('lets nothing but /v1, public keys, the page for receivers, links to contacts and the portal through', () => {
    const pathsOf = (rendered: typeof all) =>
      valueAt(findObject(rendered, 'Ingress', 'hooks-hookferry-api'), 'spec.rules.0.http.paths');
    const path = (name: string) => ({ path: name, pathType: 'Prefix' });
    expect(pathsOf(all)).toMatchObject([
      path('/v1'),
      path('/.well-known/webhooks'),
      path('/receive'),
      path('/contacts'),
      path('/portal'),
    ]);
    expect(pathsOf(renderChart(helm, WITHOUT_PORTAL))).toMatchObject([
      path('/v1'),
      path('/.well-known/webhooks'),
      path('/receive'),
      path('/contacts'),
    ]);
  });

  it('tells the API who may frame the portal, and where browsers find it', () => {
    const portalOf = (rendered: typeof all) =>
      (valueAt(findObject(rendered, 'Deployment', 'hooks-hookferry-api'), ENV) as { name: string }[]).filter(
        ({ name }) => /^(PORTAL|PUBLIC)/.test(name),
      );
    expect(portalOf(least)).toEqual([{ name: 'PORTAL', value: 'true' }]);
    expect(portalOf(all)).toEqual([
      { name: 'PORTAL', value: 'true' },
      { name: 'PORTAL_FRAME_ANCESTORS', value: 'https://app.example.com,https://other.example.com' },
      { name: 'PUBLIC_URL', value: 'https://webhooks.example.com' },
    ]);
    expect(portalOf(renderChart(helm, WITHOUT_PORTAL))).toEqual([
      { name: 'PORTAL', value: 'false' },
      { name: 'PUBLIC_URL', value: 'https://hooks.example.com' },
    ]);
  });

  it('warns of an ingress whose clients all have one address, and only then', () => {
    const notes = (api: Values) => renderNotes(helm, { ...LEAST, api });
    const ingress = { enabled: true, host: 'webhooks.example.com' };
    expect(notes({ ingress })).toContain('WARNING: TRUST_PROXY is not set.');
    expect(notes({ ingress, settings: { TRUST_PROXY: '1' } })).toContain('http://webhooks.example.com/v1');
    expect(notes({ ingress, settings: { TRUST_PROXY: '1' } })).not.toContain('TRUST_PROXY');
    expect(notes({})).not.toContain('TRUST_PROXY');
  });

  it('shows no secret outside of its Secret', () => {
    const others = all.filter(({ kind }) => kind !== 'Secret');
    expect(JSON.stringify(others)).not.toContain('hidden');
    expect(valueAt(findObject(all, 'Secret', 'hooks-hookferry'), 'data.redis-url')).toBe(
      Buffer.from('rediss://user:hidden-password@redis:6379').toString('base64'),
    );
  });

  it('takes a Secret that is there, and makes none', () => {
    const api = findObject(least, 'Deployment', 'hooks-hookferry-api');
    expect(least.map(({ kind }) => kind)).not.toContain('Secret');
    expect(valueAt(api, 'spec.template.spec.volumes.0.secret')).toMatchObject({
      secretName: 'hookferry-secrets',
      items: [{ key: 'redis-url' }, { key: 'secrets-encryption-key' }, { key: 'bootstrap-api-key' }],
    });
  });

  it('has the alerts that Prometheus has elsewhere', () => {
    const folder = join(PROJECT, 'docker/prometheus');
    const groups = readdirSync(folder)
      .toSorted()
      .map((file) => parse(readFileSync(join(folder, file), 'utf8')) as { groups?: unknown[] })
      .flatMap((file) => file.groups ?? []);
    const scrapedElsewhere = renderChart(helm, { ...LEAST, metrics: { prometheusRule: { enabled: true } } });
    const rule = findObject(scrapedElsewhere, 'PrometheusRule', 'hooks-hookferry');
    expect(valueAt(rule, 'spec.groups')).toEqual(groups);
    expect(groups).not.toEqual([]);
  });

  it('leads from each alert to where the runbook is kept', () => {
    const runbookUrl = 'https://git.example.com/team/webhooks/blob/main/';
    const rendered = renderChart(helm, {
      ...ALL,
      metrics: { prometheusRule: { enabled: true, runbookUrl } },
    });
    const links = JSON.stringify(rendered).match(/"runbook_url":"[^"]+"/g) ?? [];
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((link) => !link.startsWith(`"runbook_url":"${runbookUrl}docs/runbook.md#`))).toEqual(
      [],
    );
  });

  it('has the dashboards that Grafana has elsewhere', () => {
    const elsewhere = readdirSync(join(PROJECT, 'docker'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.startsWith('grafana/') && path.endsWith('.json'))
      .map((path) => readFileSync(join(PROJECT, 'docker', path), 'utf8'));
    const dashboards = all.filter(({ kind }) => kind === 'ConfigMap');
    const here = dashboards.flatMap(({ data }) => Object.values(data as Record<string, string>));
    expect(here.map((text) => JSON.parse(text) as unknown).toSorted(byTitle)).toEqual(
      elsewhere.map((text) => JSON.parse(text) as unknown).toSorted(byTitle),
    );
  });
});

function byTitle(one: unknown, other: unknown): number {
  return String(valueAt(one, 'title')).localeCompare(String(valueAt(other, 'title')));
}
