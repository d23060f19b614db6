import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const DOCKER = join(__dirname, '../../docker');
const RULES_FILE = join(DOCKER, 'prometheus/alerts.yml');
const DASHBOARDS = join(DOCKER, 'grafana/dashboards');

const ruleSchema = z.union([
  z.strictObject({ record: z.string(), expr: z.string() }),
  z.strictObject({
    alert: z.string(),
    expr: z.string(),
    for: z.string().optional(),
    labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
    annotations: z.strictObject({ summary: z.string(), runbook_url: z.string() }),
  }),
]);
const rulesSchema = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(ruleSchema) })),
});
export type RulesFile = z.infer<typeof rulesSchema>;
export type Rule = z.infer<typeof ruleSchema>;
export type Alert = Extract<Rule, { alert: string }>;

export function readRules(): RulesFile {
  return rulesSchema.parse(parse(readFileSync(RULES_FILE, 'utf8')));
}

export function alertsOf({ groups }: RulesFile): readonly Alert[] {
  return groups.flatMap(({ rules }) => rules.flatMap((rule) => ('alert' in rule ? [rule] : [])));
}

const panelSchema = z.object({
  id: z.number(),
  type: z.string(),
  title: z.string(),
  datasource: z.object({ uid: z.literal('prometheus') }).optional(),
  targets: z.array(z.object({ expr: z.string() })).optional(),
});
const dashboardSchema = z.object({ uid: z.string(), title: z.string(), panels: z.array(panelSchema) });

export interface Panel {
  /** With its dashboard's title. */
  readonly name: string;
  readonly expr: string;
}

/** Each expression of each panel of each dashboard. */
export function readPanels(): readonly Panel[] {
  return readDashboards().flatMap(({ title: dashboard, panels }) =>
    panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ name: `${dashboard} › ${title}`, expr })),
    ),
  );
}

export function readDashboards(): readonly z.infer<typeof dashboardSchema>[] {
  const files = readdirSync(DASHBOARDS).map((name) => readFileSync(join(DASHBOARDS, name), 'utf8'));
  return files.map((text) => dashboardSchema.parse(JSON.parse(text)));
}

const SELECTOR = /\b((?:webhooks|nodejs|process)_\w+|webhooks:[\w:]+|up)\b(\{[^}]*\})?/g;

/** The metrics that an expression asks for, with what it wants of their labels. */
export function selectorsOf(expr: string): readonly { readonly name: string; readonly matchers: string }[] {
  return [...expr.matchAll(SELECTOR)].map(([, name = '', matchers = '']) => ({ name, matchers }));
}
