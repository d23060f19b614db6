import { presentApiKey } from '@hookferry/core/accounts/api-keys';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Cli } from '../cli';
import { withAdvice } from '../failure';
import { accountOption, accountSchema, jsonOption, jsonSchema, parseFlags } from '../flags';
import { formatJson, formatTable } from '../format';
import { readAllPages } from '../read-all-pages';

const flagsSchema = z.object({ account: accountSchema, json: jsonSchema });
const TITLES = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'];

export function addListKeys(keys: Command, { output, withService }: Cli): void {
  keys
    .command('list')
    .description("List an account's keys, newest first.")
    .addOption(accountOption())
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { account, json } = parseFlags(flagsSchema, given);
      await withService(async ({ apiKeys, accounts }) => {
        await withAdvice('not_found', 'See: hookferry-admin accounts list', accounts.read(account));
        const all = await readAllPages(async (limit, before) => {
          const page = await apiKeys.list(account, limit, before);
          return [page.apiKeys, page.nextCursor];
        });
        const shown = all.map(presentApiKey);
        output.out(json ? formatJson(shown) : formatTable(TITLES, shown.map(toRow)));
      });
    });
}

function toRow(apiKey: ReturnType<typeof presentApiKey>): string[] {
  const { id, name, scopes, created_at, expires_at, last_used_at } = apiKey;
  return [id, name, scopes.join(','), created_at, expires_at ?? 'never', last_used_at ?? 'never'];
}
