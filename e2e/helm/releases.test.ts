import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { prometheusOrSkip } from '../metrics/provide-prometheus';
import { selectorsOf } from '../metrics/read-rules';
import { describeChart } from './chart-tools';
import { findObject, type Release, renderChart, valueAt } from './render-chart';
import { ALL } from './sample-values';

interface Group {
  readonly rules: readonly { readonly expr: string; readonly labels: Readonly<Record<string, string>> }[];
}

const programs = prometheusOrSkip('the rules of several releases by promtool');
const describeWith = programs ? describe : describe.skip;

/** The one that has a fault; another one of its name, and another one in its namespace. */
const FAULTY = { name: 'hooks', namespace: 'shop' };
const RELEASES = [FAULTY, { name: 'hooks', namespace: 'market' }, { name: 'more', namespace: 'shop' }];

const labelOf = ({ name, namespace }: Release) => `${namespace}/${name}-hookferry`;

describeChart('several releases of the Helm chart under one Prometheus', ({ helm }) => {
  const rulesOf = (release: Release) => {
    const rule = findObject(renderChart(helm, ALL, release), 'PrometheusRule', `${release.name}-hookferry`);
    return { groups: valueAt(rule, 'spec.groups') as Group[] };
  };

  it('have rules that ask for their own metrics, each time, and say whose they are', () => {
    const rules = rulesOf(FAULTY).groups.flatMap((group) => group.rules);
    const selectors = rules.flatMap(({ expr }) => selectorsOf(expr));
    const own = `{release="${labelOf(FAULTY)}",`;
    expect(selectors.filter(({ matchers }) => !matchers.startsWith(own))).toEqual([]);
    expect(selectors.length).toBeGreaterThan(rules.length);
    expect(rules.filter(({ labels }) => labels.release !== labelOf(FAULTY))).toEqual([]);
  });

  describeWith('by promtool', () => {
    it('alert of what is theirs, and of nothing else', () => {
      const folder = mkdtempSync(join(tmpdir(), 'webhooks-releases-'));
      const files = RELEASES.map((release, index) => {
        writeFileSync(join(folder, `${index}.yml`), stringify(rulesOf(release)));
        return `${index}.yml`;
      });
      writeFileSync(join(folder, 'test.yml'), stringify(testOf(files)));
      const said = execFileSync(programs?.promtool ?? '', ['test', 'rules', join(folder, 'test.yml')], {
        encoding: 'utf8',
        stdio: 'pipe',
      });
      rmSync(folder, { recursive: true });
      expect(said).toContain('SUCCESS');
    });
  });
});

/** As in e2e/metrics/alerts.test.yml: the faulty one has no worker and was late, the others are well. */
function testOf(files: readonly string[]) {
  const alerts = {
    WebhooksNoWorker: {
      labels: { severity: 'critical' },
      summary: 'No worker is running. Events are accepted and wait.',
    },
    WebhooksDeliveriesLate: {
      labels: { severity: 'critical' },
      summary: '10% of the deliveries are tried later than 10 s after their event was accepted.',
    },
    WebhooksRedisMemoryNearlyFull: {
      labels: { severity: 'warning' },
      summary:
        'Redis has used 90% of its maxmemory. Beyond the whole of it nothing is accepted or delivered.',
    },
  };
  return {
    rule_files: files,
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: RELEASES.flatMap((release) => seriesOf(labelOf(release), release === FAULTY)),
        alert_rule_test: Object.entries(alerts).map(([alertname, { labels, summary }]) => ({
          eval_time: '60m',
          alertname,
          exp_alerts: [
            {
              exp_labels: { ...labels, release: labelOf(FAULTY) },
              exp_annotations: { summary, runbook_url: `docs/runbook.md#${alertname.toLowerCase()}` },
            },
          ],
        })),
      },
    ],
  };
}

function seriesOf(release: string, isFaulty: boolean) {
  const lag = 'webhooks_delivery_first_attempt_lag_seconds';
  const series = {
    [`up{job="hookferry-worker", release="${release}", instance="a"}`]: isFaulty ? '0x60' : '1x60',
    [`${lag}_bucket{le="10", release="${release}"}`]: isFaulty ? '0+90x60' : '0+100x60',
    [`${lag}_count{release="${release}"}`]: '0+100x60',
    [`webhooks_redis_memory_used_bytes{node="0", release="${release}"}`]: isFaulty ? '900x60' : '100x60',
    [`webhooks_redis_memory_max_bytes{node="0", release="${release}"}`]: '1000x60',
  };
  return Object.entries(series).map(([name, values]) => ({ series: name, values }));
}
