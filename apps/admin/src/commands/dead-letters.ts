import {
  type DeadLetterId,
  type DeadLetterQueue,
  deadLetterIdSchema,
  type ListedDeadLetter,
} from '@hookferry/core/domain/dead-letter';
import { AppError } from '@hookferry/core/platform/app-error';
import type { DeadLetterMark } from '@hookferry/core/queue/bullmq-dead-letter-store';
import { dropDeadLetter, redriveDeadLetter } from '@hookferry/core/replays/manage-dead-letters';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Cli } from '../cli';
import type { DeadLettersContext } from '../compose';
import { withAdvice } from '../failure';
import { jsonOption, jsonSchema, parseFlags, queueOption, queueSchema } from '../flags';
import { formatJson } from '../format';
import { type ReadPage, readPages } from '../read-all-pages';
import { UsageError } from '../usage-error';

export const HOW_TO_LIST = 'See: hookferry-admin dead-letters list';

/** @throws UsageError. */
export function parseDeadLetterId(given: unknown): DeadLetterId {
  const id = deadLetterIdSchema.safeParse(given).data;
  if (id === undefined)
    throw new UsageError('<id>: must be as it stands in: hookferry-admin dead-letters list');
  return id;
}

/** How the pages of dead letters are read: all, or those of a queue. */
export function readDeadLetterPage(
  deadLetters: DeadLettersContext,
  queue: DeadLetterQueue | undefined,
): ReadPage<ListedDeadLetter, DeadLetterMark> {
  return async (limit, before) => {
    const page = await deadLetters.deadLetterStore.list(queue, limit, before);
    return [page.deadLetters, page.nextCursor];
  };
}

export function addDropDeadLetters(deadLetters: Command, cli: Cli): void {
  addEachDeadLetter(deadLetters, cli, {
    name: 'drop',
    description: 'Drop dead letters for good. A delivery or a replay whose job it was is cancelled.',
    done: ['Dropped', 'dropped'],
    act: dropDeadLetter,
  });
}

export function addRedriveDeadLetters(deadLetters: Command, cli: Cli): void {
  addEachDeadLetter(deadLetters, cli, {
    name: 'redrive',
    description: 'Put dead letters back onto their queues. What fails again is a dead letter again.',
    done: ['Put back', 'redriven'],
    act: redriveDeadLetter,
  });
}

/** Something that can be done with dead letters. */
export interface DeadLetterAct {
  readonly name: string;
  readonly description: string;
  /** What was done, as a sentence begins with it and as a member of JSON. */
  readonly done: readonly [sentence: string, member: string];
  act(deadLetters: DeadLettersContext, id: DeadLetterId): Promise<void>;
}

const flagsSchema = z.object({ all: z.boolean().default(false), queue: queueSchema, json: jsonSchema });
type Flags = z.infer<typeof flagsSchema>;

/** A command that does something with dead letters: with those that are named, or with all of them. */
function addEachDeadLetter(parent: Command, cli: Cli, what: DeadLetterAct): void {
  parent
    .command(what.name)
    .description(what.description)
    .argument('[ids...]', 'as they stand in the list')
    .option('--all', 'every one that there is now')
    .addOption(queueOption())
    .addOption(jsonOption())
    .action(async (givenIds: readonly unknown[], given: unknown) => {
      const ids = givenIds.map(parseDeadLetterId);
      const flags = parseFlags(flagsSchema, given);
      requireOneOf(ids, flags);
      await cli.withService(async ({ deadLetters }) => {
        const count = flags.all
          ? await doAll(deadLetters, flags, cli, what)
          : await doEach(deadLetters, ids, what);
        const [sentence, member] = what.done;
        cli.output.out(flags.json ? formatJson({ [member]: count }) : `${sentence} ${countOf(count)}.\n`);
      });
    });
}

function requireOneOf(ids: readonly DeadLetterId[], { all, queue }: Flags): void {
  if (all && ids.length > 0) throw new UsageError('Name some, or say --all; not both.');
  if (!all && ids.length === 0) throw new UsageError('Say which: <id>…, or --all.');
  if (!all && queue !== undefined) throw new UsageError('--queue: goes with --all only');
}

async function doEach(
  deadLetters: DeadLettersContext,
  ids: readonly DeadLetterId[],
  { act }: DeadLetterAct,
): Promise<number> {
  for (const id of ids) await withAdvice('not_found', HOW_TO_LIST, act(deadLetters, id));
  return ids.length;
}

// From the newest to the oldest: what becomes a dead letter again meanwhile is newer, and is not met a second time.
async function doAll(
  deadLetters: DeadLettersContext,
  { queue }: { readonly queue?: DeadLetterQueue | undefined },
  { output }: Cli,
  { act, done: [sentence] }: DeadLetterAct,
): Promise<number> {
  let count = 0;
  for await (const page of readPages(readDeadLetterPage(deadLetters, queue))) {
    if (count > 0) output.error(`${sentence} ${countOf(count)} so far.\n`);
    for (const { id } of page) count += await oneIfThere(act(deadLetters, id));
  }
  return count;
}

// Somebody else may be at it too, and want the other.
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
