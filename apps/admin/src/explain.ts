import { holdReasons, holdWords } from '@hookferry/core/domain/delivery';
import { levelsOf, type Signal, signals } from '@hookferry/core/domain/signal';
import type { MetricDefinition } from '@hookferry/core/telemetry/prom-gauges';
import { editsBetween } from '@hookferry/producer/fault-words';
import type { Command } from 'commander';
import { type Cli, UsageError } from './cli';
import written from './explanations.json';
import { formatMarkdown } from './format-markdown';

/** What a word means, as a piece of a page in Markdown. */
export interface Explanation {
  readonly name: string;
  readonly kind:
    | 'setting'
    | 'log event'
    | 'alert'
    | 'metric'
    | 'status'
    | 'hold reason'
    | 'outcome'
    | 'error code';
  readonly text: string;
}

export function addExplain(program: Command, { output }: Cli): void {
  program
    .command('explain')
    .description(
      'Explain a setting, a log event, an alert, a metric, a status, hold reason or outcome of a delivery, or an error code. It needs no Redis.',
    )
    .argument(
      '<word>',
      'such as RETENTION, redis.error, WebhooksNoWorker, dns_error; upper case and dots may be left out',
    )
    .action(async (word: string) => {
      const explanations = await readExplanations();
      const found = find(explanations, word);
      if (found.length === 0) throw new UsageError(describeUnknown(explanations, word));
      output.out(found.map(format).join('\n'));
    });
}

/** All that can be explained. */
export async function readExplanations(): Promise<readonly Explanation[]> {
  return [
    ...written.settings.map(({ name, of, default: value, means }) =>
      explain('setting', name, [means], {
        Of: of,
        Default: value === null ? 'none' : `\`${value}\``,
        ...unitOf(name, value),
      }),
    ),
    ...(Object.keys(signals) as Signal['name'][]).map((name) =>
      // The code's endpoint is called a webhook outside.
      explain(
        'log event',
        name.replace(/^endpoint\b/, 'webhook'),
        [signals[name].means, doing(signals[name].act)],
        {
          Level: levelsOf(name).join(' or '),
        },
      ),
    ),
    ...written.alerts.map(({ name, text }) => explain('alert', name, [text])),
    ...(await readMetrics()).map(({ name, type, labels, help }) =>
      explain('metric', name, [help], { Type: type, ...labelTexts(labels) }),
    ),
    ...written.statuses.map(({ name, means }) =>
      explain('status', name, [`A delivery that ${means}.`, 'More: [deliveries](deliveries.md)']),
    ),
    ...holdReasons.map((reason) => {
      const { cause, ends } = holdWords[reason];
      const text = `A delivery with this reason is held because ${cause}. It is sent ${ends}.`;
      return explain('hold reason', reason, [text, 'More: [deliveries](deliveries.md#holding)']);
    }),
    ...written.outcomes.map(({ name, means }) =>
      explain('outcome', name, [means, 'What to do: [nothing arrives](nothing-arrives.md)']),
    ),
    ...written.codes.map(({ name, status, again, means, act }) =>
      explain('error code', name, [means, doing(act)], { Status: status, 'Send it again': again }),
    ),
  ];
}

function explain(
  kind: Explanation['kind'],
  name: string,
  paragraphs: readonly string[],
  facts: Readonly<Record<string, string>> = {},
): Explanation {
  const rows = Object.entries(facts).map(([fact, value]) => `| ${fact} | ${value} |`);
  const table = rows.length === 0 ? [] : [['| | |', '| --- | --- |', ...rows].join('\n')];
  return { kind, name, text: [...table, ...paragraphs].join('\n\n') };
}

function doing(act = 'nothing.'): string {
  return `**Do:** ${act}`;
}

async function readMetrics(): Promise<readonly MetricDefinition[]> {
  // Loaded only here: no other command needs what serves the metrics.
  const { apiMetrics, workerMetrics } = await import('@hookferry/core/telemetry/prom-registry');
  return [...new Map([...apiMetrics, ...workerMetrics].map((metric) => [metric.name, metric])).values()];
}

function labelTexts(labels: MetricDefinition['labels']): Readonly<Record<string, string>> {
  const texts = Object.entries(labels).map(([label, values]) => [
    `Label ${label}`,
    typeof values === 'string' ? values : values.join(', '),
  ]);
  return Object.fromEntries(texts);
}

/** As far as the default shows it. */
function unitOf(name: string, value: string | null): Readonly<Record<string, string>> {
  if (/_BYTES(_|$)/.test(name)) return { Unit: 'bytes' };
  if (name.endsWith('_MB')) return { Unit: 'megabytes' };
  if (value === null) return {};
  if (value === 'true' || value === 'false') return { Values: '`true`, `false`' };
  if (/^\d+(ms|s|m|h|d)$/.test(value)) return { Unit: 'a number and one of `ms`, `s`, `m`, `h`, `d`' };
  if (/^\d+\/\d+[sm]$/.test(value)) {
    return { Unit: 'a number within whole seconds or minutes, such as `1000/1s`, or `off`' };
  }
  return /^\d+$/.test(value) ? { Unit: 'a number' } : {};
}

function format({ kind, name, text }: Explanation): string {
  return `${name} (${kind})\n\n${formatMarkdown(text)}`;
}

/** What has this name; else, what alone begins with it. */
function find(explanations: readonly Explanation[], word: string): readonly Explanation[] {
  const asked = plain(word);
  const named = explanations.filter(({ name }) => plain(name) === asked || short(name) === asked);
  if (named.length > 0 || asked === '') return named;
  const begun = explanations.filter(
    ({ name }) => plain(name).startsWith(asked) || short(name).startsWith(asked),
  );
  return new Set(begun.map(({ name }) => name)).size === 1 ? begun : [];
}

const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
/** Without what all alerts and metrics begin with. */
const short = (name: string) => plain(name).replace(/^webhooks(?=.)/, '');

const MOST_PROPOSALS = 6;

// Longer than any name: each further character is compared with all of them.
const MOST_CHARACTERS = 100;

function describeUnknown(explanations: readonly Explanation[], whole: string): string {
  const word = whole.slice(0, MOST_CHARACTERS);
  const asked = plain(word);
  const names = [...new Set(explanations.map(({ name }) => name))];
  const nearest = names
    .map((name) => ({ name, distance: distanceOf(asked, name) }))
    .toSorted((left, right) => left.distance - right.distance)
    .slice(0, MOST_PROPOSALS)
    .map(({ name }) => name);
  return `Nothing is called ${JSON.stringify(word)}. Did you mean one of these?\n  ${nearest.join('\n  ')}`;
}

/** A name that has the word in it is near, and the shortest of those the nearest. */
function distanceOf(asked: string, name: string): number {
  const whole = plain(name);
  const within =
    asked !== '' && whole.includes(asked)
      ? (whole.length - asked.length) / whole.length
      : Number.POSITIVE_INFINITY;
  return Math.min(within, editsBetween(asked, whole), editsBetween(asked, short(name)));
}
