import { newAccountSchema, presentAccount } from '@hookferry/core/operations/manage-accounts';
import type { Command } from 'commander';
import type { Cli } from '../cli';
import { withAdvice } from '../failure';
import { jsonOption, jsonSchema, parseFlags } from '../flags';
import { formatJson } from '../format';
import { accountTable } from './account-table';

const flagsSchema = newAccountSchema.extend({ json: jsonSchema });

export function addCreateAccount(accounts: Command, { output, withService }: Cli): void {
  accounts
    .command('create')
    .description('Create an account.')
    .option('--id <id>', 'the id that producers and you will name it by (default: one is made)')
    .option('--name <name>', 'what people call it')
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { json, ...input } = parseFlags(flagsSchema, given);
      await withService(async (service) => {
        const advice = 'Choose another one, or see: hookferry-admin accounts list';
        const account = await withAdvice('conflict', advice, service.accounts.create(input));
        output.out(json ? formatJson(presentAccount(account)) : accountTable([account]));
      });
    });
}
