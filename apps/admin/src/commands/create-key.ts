import { presentApiKey, scopeListSchema } from '@hookferry/core/accounts/api-keys';
import { displayNameSchema, scopes } from '@hookferry/core/domain/account';
import { durationSchema } from '@hookferry/core/platform/duration';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Cli } from '../cli';
import { withAdvice } from '../failure';
import { accountOption, accountSchema, jsonOption, jsonSchema, parseFlags } from '../flags';
import { formatJson } from '../format';

const MAX_EXPIRES_MS = 3_650 * 86_400_000;

const flagsSchema = z.object({
  account: accountSchema,
  name: displayNameSchema,
  scopes: z
    .string()
    .transform((text) => text.split(',').map((scope) => scope.trim()))
    .pipe(scopeListSchema),
  expires: durationSchema
    .refine((ms) => ms > 0, 'must be longer than nothing')
    .refine((ms) => ms <= MAX_EXPIRES_MS, 'must be at most 3650d')
    .optional(),
  json: jsonSchema,
});

export function addCreateKey(keys: Command, { output, withService }: Cli): void {
  keys
    .command('create')
    .description('Issue a key. It is shown this once: only a hash of it is stored.')
    .requiredOption('--name <name>', 'what it is for')
    .requiredOption('--scopes <list>', `what it may do, separated by commas: ${scopes.join(', ')}`)
    .option('--expires <duration>', 'how long it is good for, such as 90d (default: for ever)')
    .addOption(accountOption())
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const flags = parseFlags(flagsSchema, given);
      await withService(async ({ apiKeys, accounts, clock }) => {
        const { account, name, expires } = flags;
        const advice = `Create it first: hookferry-admin accounts create --id ${account}`;
        await withAdvice('not_found', advice, accounts.read(account));
        const expiry = expires === undefined ? {} : { expiresAt: clock() + expires };
        const issued = apiKeys.issue(account, { name, scopes: flags.scopes, ...expiry });
        const { key, apiKey } = await withAdvice('not_found', 'It is being erased.', issued);
        const shown = presentApiKey(apiKey);
        if (flags.json) return output.out(formatJson({ ...shown, account_id: account, key }));
        const end = shown.expires_at === null ? '' : `, good until ${shown.expires_at}`;
        output.error(`Key ${shown.id} of the account ${account}${end}. This is the only time it is shown:\n`);
        output.out(`${key}\n`);
      });
    });
}
