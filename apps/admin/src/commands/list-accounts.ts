import { presentAccount } from '@hookferry/core/operations/manage-accounts';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Cli } from '../cli';
import { jsonOption, jsonSchema, parseFlags } from '../flags';
import { formatJson } from '../format';
import { readAllPages } from '../read-all-pages';
import { accountTable } from './account-table';

const flagsSchema = z.object({ json: jsonSchema });

export function addListAccounts(accounts: Command, { output, withService }: Cli): void {
  accounts
    .command('list')
    .description('List the accounts, newest first.')
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { json } = parseFlags(flagsSchema, given);
      await withService(async (service) => {
        const all = await readAllPages(async (limit, before) => {
          const page = await service.accounts.list(limit, before);
          return [page.accounts, page.nextCursor];
        });
        output.out(json ? formatJson(all.map(presentAccount)) : accountTable(all));
      });
    });
}
