import { type Command, Option } from 'commander';
import { type Cli, connect } from '../cli';
import { parseTime } from '../input/parse-time';
import type { Column } from '../output/output';
import type { DeliveryMetricsPoint } from '../resources';
import { addExample } from './example';

const INTERVALS = ['1m', '5m', '1h', '1d', 'total'] as const;
const GROUPS = { webhook: 'webhook_id', type: 'event_type', outcome: 'outcome' } as const;
type Group = keyof typeof GROUPS;

interface MetricsFlags {
  readonly interval?: (typeof INTERVALS)[number];
  readonly by?: Group;
  readonly since?: string;
  readonly until?: string;
}

export function addMetrics(program: Command, cli: Cli): void {
  const metrics = program.command('metrics').description('Counts over time.');
  const deliveries = metrics
    .command('deliveries')
    .description('Count attempts over time, with their durations.')
    .addOption(
      new Option('--interval <interval>', 'the length of each interval (default: 1h)').choices(INTERVALS),
    )
    .addOption(new Option('--by <group>', 'count each of these by itself').choices(Object.keys(GROUPS)))
    .option('--since <time>', 'only from this time on: a time, or how long ago (7d)', (text) =>
      parseTime(text),
    )
    .option('--until <time>', 'only before this time', (text) => parseTime(text))
    .action((flags: MetricsFlags) => countDeliveries(flags, cli));
  addExample(
    deliveries,
    'hookferry metrics deliveries --since 6h --interval 5m',
    'hookferry metrics deliveries --by webhook --since 30d --interval 1d',
  );
}

async function countDeliveries({ by, ...flags }: MetricsFlags, cli: Cli): Promise<void> {
  const query = { ...flags, ...(by && { group_by: GROUPS[by] }) };
  const client = await connect(cli);
  const { data } = await client.GET('/v1/metrics/deliveries', { params: { query } });
  cli.output.list(data, columnsOf(by), 'There were no attempts.');
}

function columnsOf(by: Group | undefined): readonly Column<DeliveryMetricsPoint>[] {
  const group: Column<DeliveryMetricsPoint>[] = by ? [[by, (point) => point.group[GROUPS[by]]]] : [];
  return [
    ['start', ({ starts_at }) => starts_at],
    ...group,
    ['attempts', ({ attempts }) => attempts],
    ['delivered', ({ delivered }) => delivered],
    ['failed', ({ failed }) => failed],
    ['retried', ({ retried }) => retried],
    ['exhausted', ({ exhausted }) => exhausted],
    ['p50 ms', ({ p50_ms }) => p50_ms],
    ['p95 ms', ({ p95_ms }) => p95_ms],
    ['p99 ms', ({ p99_ms }) => p99_ms],
    ['lag p95 ms', ({ lag_p95_ms }) => lag_p95_ms],
  ];
}
