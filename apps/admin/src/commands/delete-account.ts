import { setTimeout as wait } from 'node:timers/promises';
import { type AccountId, accountIdSchema } from '@hookferry/core/domain/account';
import { presentAccount } from '@hookferry/core/operations/manage-accounts';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Cli, Output } from '../cli';
import type { Service } from '../compose';
import { withAdvice } from '../failure';
import { jsonOption, jsonSchema, parseFlags } from '../flags';
import { formatJson } from '../format';
import { UsageError } from '../usage-error';

const LOOK_EVERY_MS = 500;

const flagsSchema = z.object({
  yes: z.literal(true, 'must be given: nothing brings the account back'),
  wait: z.boolean(),
  json: jsonSchema,
});

export function addDeleteAccount(accounts: Command, { output, withService }: Cli): void {
  accounts
    .command('delete')
    .description('Erase an account with all that it owns. The workers do it; this waits for them.')
    .argument('<id>', "the account's id")
    .option('--yes', 'this is really meant')
    .option('--no-wait', 'do not wait until it is done')
    .addOption(jsonOption())
    .action(async (givenId: unknown, given: unknown) => {
      const id = parseId(givenId);
      const flags = parseFlags(flagsSchema, { yes: false, ...(given as object) });
      await withService(async (service) => {
        const advice = 'See: hookferry-admin accounts list';
        const account = await withAdvice(
          'conflict',
          'Nothing was changed.',
          withAdvice('not_found', advice, service.eraseAccount(id)),
        );
        if (flags.wait) await untilErased(id, service, output);
        const done = flags.wait ? `Erased the account ${id}.\n` : `The account ${id} is being erased.\n`;
        const status = flags.wait ? 'erased' : 'erasing';
        output.out(flags.json ? formatJson({ ...presentAccount(account), status }) : done);
      });
    });
}

function parseId(given: unknown): AccountId {
  const id = accountIdSchema.safeParse(given);
  if (!id.success) throw new UsageError(`<id>: ${id.error.issues.map(({ message }) => message).join('; ')}`);
  return id.data;
}

async function untilErased(id: AccountId, { accounts }: Service, output: Output): Promise<void> {
  output.error('The workers erase it. If nothing moves, see that one is running.\n');
  let said = '';
  for (let left = await readLeft(id, accounts); left !== undefined; left = await readLeft(id, accounts)) {
    if (left !== said) output.error(`${left}\n`);
    said = left;
    await wait(LOOK_EVERY_MS);
  }
}

/** In words; `undefined` once the account is gone. */
async function readLeft(id: AccountId, accounts: Service['accounts']): Promise<string | undefined> {
  try {
    const remains = await accounts.readRemains(await accounts.read(id));
    if (!remains) return undefined;
    if (remains.endpoints + remains.events > 0) {
      return `Still there: ${remains.endpoints} webhooks, ${remains.events} events.`;
    }
    return 'No webhooks or events are listed any more. What no list has is looked for among all keys.';
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined;
    throw error;
  }
}
