import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import {
  type DeadLetterId,
  type DeadLetterQueue,
  deadLetterIdSchema,
  deadLetterQueues,
  type ListedDeadLetter,
} from '@hookferry/core/domain/dead-letter';
import { AppError } from '@hookferry/core/platform/app-error';
import type { DeadLetterMark } from '@hookferry/core/queue/bullmq-dead-letter-store';
import {
  type ListedDeadLetterView,
  presentDeadLetter,
  presentListedDeadLetter,
} from '@hookferry/core/replays/dead-letters';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import {
  type Cli,
  jsonOption,
  jsonSchema,
  limitOption,
  limitSchema,
  parseFlags,
  UsageError,
  withAdvice,
} from './cli';
import type { AdminContext } from './context';
import { formatJson, formatTable, withoutControls } from './format';
import { type ReadPage, readPages } from './read-all-pages';

const queueOption = () => new Option('--queue <name>', `only those of: ${deadLetterQueues.join(', ')}`);
const queueSchema = z.enum(deadLetterQueues, `must be one of ${deadLetterQueues.join(', ')}`).optional();

const HOW_TO_LIST = 'See: hookferry-admin dead-letters list';

const listFlagsSchema = z.object({
  queue: queueSchema,
  limit: limitSchema,
  json: jsonSchema,
});
const TITLES = ['ID', 'NAME', 'ACCOUNT', 'FAILED', 'REASON'];

export function addListDeadLetters(deadLetters: Command, { output, withContext }: Cli): void {
  deadLetters
    .command('list')
    .description('List dead letters, newest first.')
    .addOption(queueOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { queue, limit, json } = parseFlags(listFlagsSchema, given);
      await withContext(async (context) => {
        const found: ListedDeadLetterView[] = [];
        for await (const page of readPages(readDeadLetterPage(context, queue))) {
          found.push(...page.map(presentListedDeadLetter));
          if (found.length > limit) break;
        }
        const shown = found.slice(0, limit);
        output.out(json ? formatJson(shown) : formatTable(TITLES, shown.map(toRow)));
        if (found.length > limit) output.error('There are more: raise --limit to see them.\n');
      });
    });
}

function toRow({ id, name, account_id, failed_at, reason }: ListedDeadLetterView): string[] {
  return [id, name, account_id ?? '', failed_at, reason].map(withoutControls);
}

export function addShowDeadLetter(deadLetters: Command, { output, withContext }: Cli): void {
  deadLetters
    .command('show')
    .description('Print a dead letter with its data, as JSON.')
    .argument('<id>', 'its id, from the list')
    .action(async (givenId: unknown) => {
      const id = parseDeadLetterId(givenId);
      await withContext(async (context) => {
        const deadLetter = await withAdvice('not_found', HOW_TO_LIST, context.deadLetters.read(id));
        output.out(indented(presentDeadLetter(deadLetter)));
      });
    });
}

function indented(json: string): string {
  try {
    return formatJson(JSON.parse(json));
  } catch (error) {
    // Nested too deeply to be written again.
    if (error instanceof RangeError) return `${json}\n`;
    throw error;
  }
}

export function addDropDeadLetters(deadLetters: Command, cli: Cli): void {
  addEachDeadLetter(deadLetters, cli, {
    name: 'drop',
    description: 'Drop dead letters for good. The delivery or replay of a dropped job is cancelled.',
    done: ['Dropped', 'dropped'],
    act: (context, id) =>
      context.deadLetters.drop(
        id,
        context.actOf('dead-letters drop', 'dead_letter.drop', { accountId: DEFAULT_ACCOUNT, targetId: id }),
      ),
  });
}

export function addRetryDeadLetters(deadLetters: Command, cli: Cli): void {
  addEachDeadLetter(deadLetters, cli, {
    name: 'retry',
    description:
      'Retry dead letters: put their jobs back onto the queues. A job that fails again becomes a dead letter again.',
    done: ['Retried', 'retried'],
    act: (context, id) =>
      context.deadLetters.retry(
        id,
        context.actOf('dead-letters retry', 'dead_letter.retry', {
          accountId: DEFAULT_ACCOUNT,
          targetId: id,
        }),
      ),
  });
}

/** Something that can be done with dead letters. */
interface DeadLetterAct {
  readonly name: string;
  readonly description: string;
  /** What was done, as a sentence begins with it and as a member of JSON. */
  readonly done: readonly [sentence: string, member: string];
  readonly act: (context: AdminContext, id: DeadLetterId) => Promise<void>;
}

const flagsSchema = z.object({ all: z.boolean().default(false), queue: queueSchema, json: jsonSchema });
type Flags = z.infer<typeof flagsSchema>;

/** A command that does something with dead letters: with those that are named, or with all of them. */
function addEachDeadLetter(parent: Command, cli: Cli, what: DeadLetterAct): void {
  parent
    .command(what.name)
    .description(what.description)
    .argument('[ids...]', 'their ids, from the list')
    .option('--all', 'all that exist now')
    .addOption(queueOption())
    .addOption(jsonOption())
    .action(async (givenIds: readonly unknown[], given: unknown) => {
      const ids = givenIds.map(parseDeadLetterId);
      const flags = parseFlags(flagsSchema, given);
      requireOneOf(ids, flags);
      await cli.withContext(async (context) => {
        const count = flags.all ? await doAll(context, flags, cli, what) : await doEach(context, ids, what);
        const [sentence, member] = what.done;
        cli.output.out(flags.json ? formatJson({ [member]: count }) : `${sentence} ${countOf(count)}.\n`);
      });
    });
}

function requireOneOf(ids: readonly DeadLetterId[], { all, queue }: Flags): void {
  if (all && ids.length > 0) throw new UsageError('Give either ids or --all, not both.');
  if (!all && ids.length === 0) throw new UsageError('Give the ids: <id>…, or --all.');
  if (!all && queue !== undefined) throw new UsageError('--queue: needs --all');
}

async function doEach(
  context: AdminContext,
  ids: readonly DeadLetterId[],
  { act }: DeadLetterAct,
): Promise<number> {
  for (const id of ids) await withAdvice('not_found', HOW_TO_LIST, act(context, id));
  return ids.length;
}

// From the newest to the oldest. A job that fails again meanwhile is newer, so it is not met a second time.
async function doAll(
  context: AdminContext,
  { queue }: { readonly queue?: DeadLetterQueue | undefined },
  { output }: Cli,
  { act, done: [sentence] }: DeadLetterAct,
): Promise<number> {
  let count = 0;
  for await (const page of readPages(readDeadLetterPage(context, queue))) {
    if (count > 0) output.error(`${sentence} ${countOf(count)} so far.\n`);
    for (const { id } of page) count += await oneIfThere(act(context, id));
  }
  return count;
}

// Another person may be retrying or dropping the same one.
async function oneIfThere(action: Promise<void>): Promise<0 | 1> {
  try {
    await action;
    return 1;
  } catch (error) {
    if (error instanceof AppError && (error.code === 'not_found' || error.code === 'conflict')) return 0;
    throw error;
  }
}

function countOf(count: number): string {
  return count === 1 ? '1 dead letter' : `${count} dead letters`;
}

/** @throws UsageError. */
function parseDeadLetterId(given: unknown): DeadLetterId {
  const id = deadLetterIdSchema.safeParse(given).data;
  if (id === undefined)
    throw new UsageError('<id>: must be an id that "hookferry-admin dead-letters list" shows');
  return id;
}

/** How the pages of dead letters are read: all, or those of a queue. */
function readDeadLetterPage(
  context: AdminContext,
  queue: DeadLetterQueue | undefined,
): ReadPage<ListedDeadLetter, DeadLetterMark> {
  return async (limit, before) => {
    const page = await context.deadLetters.list(queue, limit, before);
    return [page.deadLetters, page.nextCursor];
  };
}
