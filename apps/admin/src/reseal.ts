import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { type Resealing, type SealedCounts, sealedKinds } from '@hookferry/core/operations/resealing';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Cli, Failure, jsonOption, jsonSchema, type Output, parseFlags } from './cli';
import type { AdminContext } from './context';
import { formatJson, formatTable } from './format';

const flagsSchema = z.object({ dryRun: z.boolean().default(false), json: jsonSchema });

export function addReseal(keys: Command, { output, withContext }: Cli): void {
  keys
    .command('reseal')
    .description(
      'Seal everything again under the first key of SECRETS_ENCRYPTION_KEY, so that the other keys can be removed. ' +
        'The service may run. What is done stays done: after a break, run it again.',
    )
    .option('--dry-run', 'only count what is sealed under other keys')
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { dryRun, json } = parseFlags(flagsSchema, given);
      await withContext(async (context) => {
        const resealing = resealingOf(context);
        const done = dryRun ? undefined : await resealAll(context, resealing, output);
        const counts = await resealing.count(progressOf(output, 'Counted'));
        output.out(json ? formatJson(presentCounts(counts, done)) : tableOf(counts, done));
        if (!dryRun) requireNone(counts);
      });
    });
}

function resealingOf({ resealing }: AdminContext): Resealing {
  if (resealing) return resealing;
  throw new Failure(
    'SECRETS_ENCRYPTION_KEY must be set, to all keys of the API and the workers, the new one first.',
  );
}

async function resealAll(context: AdminContext, resealing: Resealing, output: Output): Promise<Done> {
  const workers = await resealing.workersWithoutKey();
  if (workers.length > 0) {
    throw new Failure(
      `Nothing was changed: the first key of SECRETS_ENCRYPTION_KEY is not among those of these workers: ${workers.join(', ')}. ` +
        'They could not open what it seals. Give it to the API and to all workers first.',
    );
  }
  const act = context.actOf('keys reseal', 'encryption_key.reseal', {
    accountId: DEFAULT_ACCOUNT,
    targetId: resealing.keyId,
  });
  return await resealing.reseal(act, progressOf(output, 'Looked at'));
}

type Done = Awaited<ReturnType<Resealing['reseal']>>;

const SHOWN_EVERY = 5_000;

function progressOf(output: Output, done: string): (count: number) => void {
  let shown = 0;
  return (count) => {
    if (count - shown < SHOWN_EVERY) return;
    shown = count;
    output.error(`${done} ${count} so far.\n`);
  };
}

function presentCounts(counts: SealedCounts, done: Done | undefined) {
  const rows = sealedKinds.map((kind) => [kind, { ...(done && { resealed: done[kind] }), ...counts[kind] }]);
  return Object.fromEntries(rows);
}

const TITLES = ['SEALED', 'UNDER THE FIRST KEY', 'LEFT', 'UNREADABLE'];

function tableOf(counts: SealedCounts, done: Done | undefined): string {
  const rows = sealedKinds.map((kind) => {
    const { current, left, unreadable } = counts[kind];
    const cells = [kind.replace('_', ' '), `${current}`, `${left}`, `${unreadable}`];
    return done ? [...cells, `${done[kind]}`] : cells;
  });
  return formatTable(done ? [...TITLES, 'RESEALED'] : TITLES, rows);
}

/** @throws Failure that says why something is left. */
function requireNone(counts: SealedCounts): void {
  const sumOf = (state: 'left' | 'unreadable') =>
    sealedKinds.reduce((sum, kind) => sum + counts[kind][state], 0);
  const [left, unreadable] = [sumOf('left'), sumOf('unreadable')];
  const told = [
    left > 0 &&
      `${left} left: a process has changed them meanwhile, by another first key. Put the new key first everywhere, and run this again.`,
    unreadable > 0 &&
      `${unreadable} unreadable: the key that has sealed them is not in SECRETS_ENCRYPTION_KEY, or their records are damaged. They were left as they are.`,
  ].filter((each) => each !== false);
  if (told.length > 0) throw new Failure(told.join('\n'));
}
