import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { UsageError } from '../failures/usage-error';
import { parseId, parseList, parsePositive } from '../input/parse-flags';
import type { Prompt } from '../input/prompt';
import { readData } from '../input/read-data';
import type { FilterResult, FilterTried, PayloadFilter } from '../resources';
import { addExample } from './example';

interface TryFlags {
  readonly filter: string;
  readonly data?: string;
  readonly type?: string;
  readonly event?: string;
  readonly events?: readonly string[];
  readonly last?: number;
}

export function addFilters(program: Command, cli: Cli): void {
  const filters = program
    .command('filters')
    .description('Filters: which events a webhook gets, by their data.');
  const tryOut = filters
    .command('try')
    .description('Try a filter, by default on the last events. Nothing is sent.')
    .requiredOption('--filter <json>', "the filter: JSON, @FILE, or '-' for stdin")
    .option('--data <json>', "try it on these data: JSON, @FILE, or '-' for stdin")
    .option('--type <type>', 'try it on the example of this event type', parseId)
    .option('--event <id>', 'try it on this event', parseId)
    .option('--events <types>', 'try it on events of these types only, separated by commas', parseList)
    .option('--last <n>', 'try it on so many of the latest events: at most 100', parsePositive)
    .action((flags: TryFlags) => tryFilter(flags, cli));
  addExample(
    tryOut,
    `hookferry filters try --filter '{"total":{"gte":100}}' --type order.created`,
    'hookferry filters try --filter @filter.json --events "order.*" --last 100',
  );
}

async function tryFilter(flags: TryFlags, cli: Cli): Promise<void> {
  const body = await bodyOf(flags, cli.prompt);
  const tried = await (await connect(cli)).POST('/v1/filters/try', { body });
  cli.output.result(tried, describe(tried));
}

async function bodyOf({ filter, data, type, event, events, last }: TryFlags, prompt: Prompt) {
  if (filter === '-' && data === '-') {
    throw new UsageError(
      'Only one of --filter and --data can be read from stdin.',
      'Use @FILE for the other.',
    );
  }
  return {
    // Whether it is a filter, the API says.
    filter: (await readData(filter, prompt, '--filter')).value as PayloadFilter,
    ...(data !== undefined && { data: (await readData(data, prompt)).value }),
    ...(type !== undefined && { event_type: type }),
    ...(event !== undefined && { event_id: event }),
    ...(events !== undefined && { events: [...events] }),
    ...(last !== undefined && { last }),
  };
}

function describe({ tried, matched, results }: FilterTried): string {
  const lines = results.flatMap(describeResult);
  return [...lines, `${matched} of ${tried} events pass.`].join('\n');
}

function describeResult({ event_id, event_type, matches, because }: FilterResult): readonly string[] {
  const name = [event_id, event_type].filter((part) => part !== null).join(' ') || 'the data';
  if (matches === null) return [`${name}: its payload was erased`];
  if (matches) return [`${name}: passes`];
  return [`${name}: does not pass`, ...because.map(describeCondition)];
}

function describeCondition({
  path,
  operator,
  expected,
  found,
  holds,
}: FilterResult['because'][number]): string {
  const there = found === undefined ? 'nothing there' : `there is ${JSON.stringify(found)}`;
  return `  ${holds ? 'holds' : 'fails'}: ${path} ${operator} ${JSON.stringify(expected)}, ${there}`;
}
