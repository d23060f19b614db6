import { type Command, Option } from 'commander';
import { UsageError } from '../../failures/usage-error';
import { type Pairs, parseHeader, parseList, parseMember, parsePositive } from '../../input/parse-flags';
import type { Prompt } from '../../input/prompt';
import { readData } from '../../input/read-data';

/** What can be said of an endpoint, whether it is new or not. */
export interface EndpointFlags {
  readonly events?: readonly string[];
  readonly filter?: string;
  readonly description?: string;
  readonly uid?: string;
  readonly header?: Pairs;
  readonly metadata?: Pairs;
  readonly rateLimit?: number;
  readonly maxConcurrency?: number;
  readonly timeoutMs?: number;
  readonly retrySchedule?: readonly string[];
  readonly ordering?: 'none' | 'strict';
  readonly data?: string;
}

export function addEndpointFlags(command: Command): Command {
  return command
    .option(
      '--events <types>',
      'which it gets: types, prefixes such as "order.*", or "*"; comma between',
      parseList,
    )
    .option('--filter <json>', "which of these it gets, by their data: JSON, @FILE or '-'; null removes")
    .option('--description <text>', 'for people')
    .option('--uid <name>', 'a name of your own, good in place of the id')
    .option('--header <"name: value">', 'sent with each delivery; may be repeated', parseHeader)
    .option('--metadata <name=value>', 'a note of your own; may be repeated', parseMember)
    .option('--rate-limit <n>', 'at most so many requests within a second', parsePositive)
    .option(
      '--max-concurrency <n>',
      'at most so many attempts under way at once, in each worker',
      parsePositive,
    )
    .option('--timeout-ms <n>', 'for a whole attempt, in milliseconds', parsePositive)
    .option('--retry-schedule <delays>', 'such as 5s,1m,1h', parseList)
    .addOption(new Option('--ordering <kind>', 'strict: one at a time, in order').choices(['none', 'strict']))
    .option('--data <json>', "members as the API takes them; other flags win over them. JSON, @FILE or '-'");
}

/** The members that the flags say, over those of `--data`. @throws UsageError. */
export async function membersOf(
  flags: EndpointFlags,
  prompt: Prompt,
): Promise<Readonly<Record<string, unknown>>> {
  const members = {
    events: flags.events,
    filter: flags.filter === undefined ? undefined : (await readData(flags.filter, prompt, '--filter')).value,
    description: flags.description,
    uid: flags.uid,
    headers: flags.header,
    metadata: flags.metadata,
    rate_limit: flags.rateLimit,
    max_concurrency: flags.maxConcurrency,
    timeout_ms: flags.timeoutMs,
    retry_schedule: flags.retrySchedule,
    ordering: flags.ordering,
  };
  const said = Object.entries(members).filter(([, value]) => value !== undefined);
  return { ...(await membersOfData(flags.data, prompt)), ...Object.fromEntries(said) };
}

async function membersOfData(given: string | undefined, prompt: Prompt): Promise<object> {
  if (given === undefined) return {};
  const { value } = await readData(given, prompt);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(
    '--data is no JSON object.',
    'Give members of an endpoint, such as \'{"rate_limit":20}\'.',
  );
}
