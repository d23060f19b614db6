import { setTimeout as wait } from 'node:timers/promises';
import { newAccountSchema, presentAccount, type ShownAccount } from '@hookferry/core/accounts/accounts';
import {
  ACCOUNT_ID_PREFIX,
  type AccountId,
  accountIdSchema,
  DEFAULT_ACCOUNT,
} from '@hookferry/core/domain/account';
import { pauseReasonSchema } from '@hookferry/core/domain/pause';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Cli, jsonOption, jsonSchema, type Output, parseFlags, UsageError, withAdvice } from './cli';
import type { AdminContext } from './context';
import { formatJson, formatTable } from './format';
import { readAllPages } from './read-all-pages';

const createFlagsSchema = newAccountSchema.extend({ json: jsonSchema });

export function addCreateAccount(accounts: Command, { output, withContext }: Cli): void {
  accounts
    .command('create')
    .description('Create an account.')
    .option('--id <id>', 'its id, for producers and requests (default: a generated one)')
    .option('--name <name>', 'a name for people')
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { json, ...input } = parseFlags(createFlagsSchema, given);
      await withContext(async (context) => {
        const advice = 'Choose another one, or see: hookferry-admin accounts list';
        const account = await withAdvice(
          'conflict',
          advice,
          context.accounts.create(
            input,
            context.newId(ACCOUNT_ID_PREFIX),
            context.actOf('accounts create', 'account.create', {
              accountId: DEFAULT_ACCOUNT,
              ...(input.id === undefined ? {} : { targetId: input.id }),
            }),
          ),
        );
        output.out(json ? formatJson(presentAccount(account)) : accountTable([account]));
      });
    });
}

const listFlagsSchema = z.object({ json: jsonSchema });

export function addListAccounts(accounts: Command, { output, withContext }: Cli): void {
  accounts
    .command('list')
    .description('List the accounts, newest first.')
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { json } = parseFlags(listFlagsSchema, given);
      await withContext(async (context) => {
        const all = await readAllPages(async (limit, before) => {
          const page = await context.accounts.list(limit, before);
          return [page.accounts, page.nextCursor];
        });
        output.out(json ? formatJson(all.map(presentAccount)) : accountTable(all));
      });
    });
}

const LOOK_EVERY_MS = 500;

const deleteFlagsSchema = z.object({
  yes: z.literal(true, 'must be given, because an erased account cannot be restored'),
  wait: z.boolean(),
  json: jsonSchema,
});

export function addDeleteAccount(accounts: Command, { output, withContext }: Cli): void {
  accounts
    .command('delete')
    .description(
      'Erase an account and everything that it owns. The workers do it, and the command waits for them.',
    )
    .argument('<id>', "the account's id")
    .option('--yes', 'confirm the erasure')
    .option('--no-wait', 'do not wait until it is done')
    .addOption(jsonOption())
    .action(async (givenId: unknown, given: unknown) => {
      const id = parseId(givenId);
      const flags = parseFlags(deleteFlagsSchema, { yes: false, ...(given as object) });
      await withContext(async (context) => {
        const advice = 'See: hookferry-admin accounts list';
        const account = await withAdvice(
          'conflict',
          'Nothing was changed.',
          withAdvice(
            'not_found',
            advice,
            context.accountErasure.begin(
              id,
              context.actOf('accounts delete', 'account.erase', { accountId: DEFAULT_ACCOUNT, targetId: id }),
            ),
          ),
        );
        if (flags.wait) await untilErased(context, id, output);
        const done = flags.wait ? `Erased the account ${id}.\n` : `The account ${id} is being erased.\n`;
        const status = flags.wait ? 'erased' : 'erasing';
        output.out(flags.json ? formatJson({ ...presentAccount(account), status }) : done);
      });
    });
}

const HOW_TO_OPEN = 'Set SECRETS_ENCRYPTION_KEY to the value that the API and the workers have.';

const pauseFlagsSchema = z.object({ reason: pauseReasonSchema.optional() });

export function addPauseAccount(accounts: Command, { output, withContext }: Cli): void {
  accounts
    .command('pause')
    .description('Disable all webhooks of an account. Its events are accepted, and its deliveries held.')
    .argument('<id>', "the account's id")
    .option('--reason <text>', 'why, for other operators and the audit log')
    .action(async (givenId: unknown, given: unknown) => {
      const id = parseId(givenId);
      const { reason } = parseFlags(pauseFlagsSchema, given);
      await withContext(async (context) => {
        const order = orderOf(context, 'account.pause', id);
        const { changed } = await withPauseAdvice(context.accountPauses.pause(id, reason, order));
        output.out(
          `Disabled ${changed} webhooks of the account ${id}. To go on: hookferry-admin accounts resume ${id}\n`,
        );
      });
    });
}

export function addResumeAccount(accounts: Command, { output, withContext }: Cli): void {
  accounts
    .command('resume')
    .description('Enable the webhooks that a pause has disabled, and send what was held.')
    .argument('<id>', "the account's id")
    .action(async (givenId: unknown) => {
      const id = parseId(givenId);
      await withContext(async (context) => {
        const order = orderOf(context, 'account.resume', id);
        const { changed } = await withPauseAdvice(context.accountPauses.resume(id, order));
        output.out(`Enabled ${changed} webhooks of the account ${id}.\n`);
      });
    });
}

function orderOf(context: AdminContext, action: 'account.pause' | 'account.resume', targetId: AccountId) {
  const command = action === 'account.pause' ? 'accounts pause' : 'accounts resume';
  const act = context.actOf(command, action, { accountId: DEFAULT_ACCOUNT, targetId });
  return { act, newId: context.newId };
}

async function withPauseAdvice<Result>(pausing: Promise<Result>): Promise<Result> {
  const advice = 'See: hookferry-admin accounts list';
  return await withAdvice('secret_unreadable', HOW_TO_OPEN, withAdvice('not_found', advice, pausing));
}

function parseId(given: unknown): AccountId {
  const id = accountIdSchema.safeParse(given);
  if (!id.success) throw new UsageError(`<id>: ${id.error.issues.map(({ message }) => message).join('; ')}`);
  return id.data;
}

async function untilErased(context: AdminContext, id: AccountId, output: Output): Promise<void> {
  output.error('The workers erase it. If the numbers do not fall, check that a worker is running.\n');
  let said = '';
  for (let left = await readLeft(context, id); left !== undefined; left = await readLeft(context, id)) {
    if (left !== said) output.error(`${left}\n`);
    said = left;
    await wait(LOOK_EVERY_MS);
  }
}

/** In words; `undefined` once the account is gone. */
async function readLeft(context: AdminContext, id: AccountId): Promise<string | undefined> {
  try {
    const remains = await context.accountErasure.remains(await context.accounts.read(id));
    if (!remains) return undefined;
    if (remains.endpoints + remains.events > 0) {
      return `Left: ${remains.endpoints} webhooks, ${remains.events} events.`;
    }
    return 'All webhooks and events are erased. The workers now search all keys of Redis for what is left.';
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined;
    throw error;
  }
}

function accountTable(accounts: readonly ShownAccount[]): string {
  const rows = accounts
    .map(presentAccount)
    .map(({ id, name, status, pause, created_at }) => [
      id,
      name ?? '',
      pause ? 'paused' : status,
      created_at,
    ]);
  return formatTable(['ID', 'NAME', 'STATUS', 'CREATED'], rows);
}
