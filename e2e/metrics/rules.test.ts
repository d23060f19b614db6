import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiMetrics, createPromRegistry, workerMetrics } from '@hookferry/core/telemetry/prom-registry';
import { parse } from 'yaml';
import { z } from 'zod';
import { prometheusOrSkip } from './provide-prometheus';
import { alertsOf, readDashboards, readPanels, readRules, selectorsOf } from './read-rules';

const PROJECT = join(__dirname, '../..');
const RULE_TESTS = ['quick-alerts.test.yml', 'alerts.test.yml', 'slow-alerts.test.yml'].map((name) =>
  join(__dirname, name),
);
const ours = [...apiMetrics, ...workerMetrics];

const rules = readRules();
const alerts = alertsOf(rules);
const recorded = rules.groups.flatMap((group) =>
  group.rules.flatMap((rule) => ('record' in rule ? [rule.record] : [])),
);
const expressions = [
  ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
  ...readPanels().map(({ expr }) => expr),
];
const selectors = expressions.flatMap(selectorsOf);

describe('rules and dashboards', () => {
  it('ask only for metrics that there are', () => {
    const ofNode = createPromRegistry()
      .getMetricsAsArray()
      .map(({ name }) => name);
    const known = new Set(['up', ...recorded, ...ofNode, ...ours.flatMap(namesOf)]);
    expect(selectors.filter(({ name }) => !known.has(name))).toEqual([]);
    expect(selectors.length).toBeGreaterThan(expressions.length);
  });

  it('ask only for labels that those have, and for values that those can have', () => {
    expect(selectors.filter((selector) => !asksForWhatThereIs(selector))).toEqual([]);
  });

  it('have panels that each have an id of their own', () => {
    for (const { panels } of readDashboards()) {
      const ids = panels.map(({ id }) => id);
      expect([...new Set(ids)]).toEqual(ids);
    }
  });

  it('show every metric of ours in a dashboard or a rule', () => {
    const asked = new Set(selectors.map(({ name }) => name));
    const hidden = ours.filter((metric) => !namesOf(metric).some((name) => asked.has(name)));
    expect(hidden.map(({ name }) => name)).toEqual([]);
  });
});

describe('docs/runbook.md', () => {
  const page = readFileSync(join(PROJECT, 'docs/runbook.md'), 'utf8');

  it('has a section for each alert, to which that leads, and for nothing else', () => {
    const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, annotations } of alerts) {
      expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    }
  });

  it('says in each what it means, what to look at and what to do', () => {
    const sections = page.split(/^## /m).slice(1);
    const parts = sections.map((section) => section.match(/^\*\*[A-Z][a-z ]+:\*\*/gm));
    expect(parts).toEqual(alerts.map(() => ['**Means:**', '**Look at:**', '**Do:**']));
  });
});

it('docs/runbook.md says how urgent each alert is, when it fires, what customers notice, and when it is over', () => {
  const page = readFileSync(join(PROJECT, 'docs/runbook.md'), 'utf8');
  const sections = page.split(/^## /m).slice(1);
  const rows = sections.map((section) =>
    section.match(/^\| (?:Severity|Fires when|Customers notice|Over when)(?= \|)/gm),
  );
  expect(rows).toEqual(alerts.map(() => ['| Severity', '| Fires when', '| Customers notice', '| Over when']));
  const severities = sections.map((section) => /^\| Severity \| (\w+)/m.exec(section)?.[1]);
  expect(severities).toEqual(alerts.map(({ labels }) => labels.severity));
});

const programs = prometheusOrSkip('the rules by promtool');
const describeWith = programs ? describe : describe.skip;

describeWith('promtool', () => {
  const run = (...args: readonly string[]) =>
    execFileSync(programs?.promtool ?? '', args, { encoding: 'utf8', stdio: 'pipe' });

  it('takes the configuration that Compose starts Prometheus with', () => {
    expect(run('check', 'config', join(PROJECT, 'docker/prometheus/prometheus.yml'))).toContain('SUCCESS');
  });

  it('sees each alert fire for what it is for, and end', () => {
    expect(run('test', 'rules', ...RULE_TESTS)).toContain('SUCCESS');
  });
});

it('tries each alert where it has to fire, and where it has to be silent', () => {
  const tried = RULE_TESTS.flatMap((file) =>
    testsSchema.parse(parse(readFileSync(file, 'utf8'))).tests.flatMap((test) => test.alert_rule_test),
  );
  const fires = new Set(tried.filter((each) => each.exp_alerts.length > 0).map((each) => each.alertname));
  const ends = new Set(tried.filter((each) => each.exp_alerts.length === 0).map((each) => each.alertname));
  const names = alerts.map(({ alert }) => alert);
  expect(names.filter((name) => !fires.has(name) || !ends.has(name))).toEqual([]);
});

const testsSchema = z.object({
  tests: z.array(
    z.object({
      alert_rule_test: z
        .array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) }))
        .default([]),
    }),
  ),
});

function namesOf({ name, type }: { readonly name: string; readonly type: string }): readonly string[] {
  return type === 'histogram' ? ['bucket', 'count', 'sum'].map((part) => `${name}_${part}`) : [name];
}

const MATCHER = /(\w+)(=~|!=|=|!~)"((?:[^"\\]|\\.)*)"/g;
/** What Prometheus itself adds, and what the chart has it add. */
const TARGET_LABELS = ['job', 'instance', 'release'];

function asksForWhatThereIs({ name, matchers }: { readonly name: string; readonly matchers: string }) {
  const metric = ours.find((each) => namesOf(each).includes(name));
  if (!metric) return true;
  const asked = [...matchers.matchAll(MATCHER)].map(([, label = '', operator = '', text = '']) => ({
    label,
    values: operator.endsWith('~') ? text.split('|') : [text],
  }));
  return asked.every(({ label, values }) => {
    if (TARGET_LABELS.includes(label) || (label === 'le' && metric.type === 'histogram')) return true;
    const known = metric.labels[label];
    return typeof known === 'string' || values.every((value) => known?.includes(value));
  });
}
