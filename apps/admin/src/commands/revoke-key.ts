import { apiKeyIdSchema } from '@hookferry/core/domain/account';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Cli } from '../cli';
import { withAdvice } from '../failure';
import { accountOption, accountSchema, jsonOption, jsonSchema, parseFlags } from '../flags';
import { formatJson } from '../format';
import { UsageError } from '../usage-error';

const flagsSchema = z.object({ account: accountSchema, last: z.boolean().default(false), json: jsonSchema });

export function addRevokeKey(keys: Command, { output, withService }: Cli): void {
  keys
    .command('revoke')
    .description('Revoke a key. It is refused from the next request on, in every process.')
    .argument('<id>', 'the 16 characters after whk_')
    .addOption(accountOption())
    .option('--last', 'also if no other key of the account could issue one then')
    .addOption(jsonOption())
    .action(async (givenId: unknown, given: unknown) => {
      const id = parseId(givenId);
      const { account, last, json } = parseFlags(flagsSchema, given);
      await withService(async ({ apiKeys }) => {
        const revoked = apiKeys.revoke(account, id, { mayBeLast: last });
        const listed = withAdvice(
          'not_found',
          `See: hookferry-admin keys list --account ${account}`,
          revoked,
        );
        await withAdvice('last_admin_key', 'To revoke it all the same, add --last.', listed);
        output.out(json ? formatJson({ id, account_id: account }) : `Revoked the key ${id}.\n`);
      });
    });
}

// What was given is not repeated: it may be a whole key.
function parseId(given: unknown): string {
  const id = apiKeyIdSchema.safeParse(given).data;
  if (id === undefined) throw new UsageError('<id>: must be the 16 characters between whk_ and the next _');
  return id;
}
