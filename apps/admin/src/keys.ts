import {
  keyEventTypesSchema,
  newApiKey,
  presentApiKey,
  scopeListSchema,
} from '@hookferry/core/accounts/api-keys';
import {
  accountIdSchema,
  apiKeyIdSchema,
  DEFAULT_ACCOUNT,
  displayNameSchema,
  scopes,
} from '@hookferry/core/domain/account';
import { durationSchema } from '@hookferry/core/platform/duration';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { type Cli, jsonOption, jsonSchema, parseFlags, UsageError, withAdvice } from './cli';
import { formatJson, formatTable } from './format';
import { readAllPages } from './read-all-pages';

const accountOption = () => new Option('--account <id>', 'the account of the keys').default(DEFAULT_ACCOUNT);

const MAX_EXPIRES_MS = 3_650 * 86_400_000;

const listSchema = z.string().transform((text) => text.split(',').map((part) => part.trim()));

const createFlagsSchema = z
  .object({
    account: accountIdSchema,
    name: displayNameSchema,
    scopes: listSchema.pipe(scopeListSchema),
    eventTypes: listSchema.pipe(keyEventTypesSchema).optional(),
    expires: durationSchema
      .refine((ms) => ms > 0, 'must be more than 0s')
      .refine((ms) => ms <= MAX_EXPIRES_MS, 'must be at most 3650d')
      .optional(),
    json: jsonSchema,
  })
  .refine(({ scopes: may, eventTypes }) => eventTypes === undefined || may.includes('events:write'), {
    path: ['eventTypes'],
    message: 'has no effect without the scope "events:write"',
  });

export function addCreateKey(keys: Command, { output, withContext }: Cli): void {
  keys
    .command('create')
    .description('Issue a key, and print it. It is never shown again: only a hash of it is stored.')
    .requiredOption('--name <name>', 'a name for people')
    .requiredOption('--scopes <list>', `what it may do, separated by commas: ${scopes.join(', ')}`)
    .option('--event-types <list>', 'the only event types that it may publish, such as order.*,invoice.paid')
    .option('--expires <duration>', 'how long it is valid, such as 90d (default: forever)')
    .addOption(accountOption())
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const flags = parseFlags(createFlagsSchema, given);
      await withContext(async (context) => {
        const { account, name, eventTypes, expires } = flags;
        const advice = `Create it first: hookferry-admin accounts create --id ${account}`;
        await withAdvice('not_found', advice, context.accounts.read(account));
        const createdAt = context.clock();
        const expiry = expires === undefined ? {} : { expiresAt: createdAt + expires };
        const input = { name, scopes: flags.scopes, ...(eventTypes && { eventTypes }), ...expiry };
        const issued = context.apiKeys.issue(
          account,
          input,
          { key: newApiKey(context.newId), createdAt },
          context.actOf('keys create', 'api_key.create', { accountId: account }),
        );
        const { key, apiKey } = await withAdvice('not_found', 'It is being erased.', issued);
        const shown = presentApiKey(apiKey);
        if (flags.json) return output.out(formatJson({ ...shown, account_id: account, key }));
        const end = shown.expires_at === null ? '' : `, good until ${shown.expires_at}`;
        output.error(`Key ${shown.id} of the account ${account}${end}. This is the only time it is shown:\n`);
        output.out(`${key}\n`);
      });
    });
}

const listFlagsSchema = z.object({ account: accountIdSchema, json: jsonSchema });
const TITLES = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'];

export function addListKeys(keys: Command, { output, withContext }: Cli): void {
  keys
    .command('list')
    .description("List an account's keys, newest first.")
    .addOption(accountOption())
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { account, json } = parseFlags(listFlagsSchema, given);
      await withContext(async (context) => {
        await withAdvice('not_found', 'See: hookferry-admin accounts list', context.accounts.read(account));
        const all = await readAllPages(async (limit, before) => {
          const page = await context.apiKeys.list(account, limit, before);
          return [page.apiKeys, page.nextCursor];
        });
        const shown = all.map(presentApiKey);
        output.out(json ? formatJson(shown) : formatTable(TITLES, shown.map(toRow)));
      });
    });
}

function toRow(apiKey: ReturnType<typeof presentApiKey>): string[] {
  const { id, name, created_at, expires_at, last_used_at } = apiKey;
  return [id, name, apiKey.scopes.join(','), created_at, expires_at ?? 'never', last_used_at ?? 'never'];
}

const DAY_MS = 86_400_000;
const MAX_OVERLAP_MS = 30 * DAY_MS;

const rotateFlagsSchema = z.object({
  account: accountIdSchema,
  overlap: durationSchema.refine((ms) => ms <= MAX_OVERLAP_MS, 'must be at most 30d').default(DAY_MS),
  json: jsonSchema,
});

export function addRotateKey(keys: Command, { output, withContext }: Cli): void {
  keys
    .command('rotate')
    .description('Issue a key that may do the same, and print it. The former one ends after an overlap.')
    .argument('<id>', 'the 16 characters after whk_')
    .option('--overlap <duration>', 'how long the former key goes on working (default: 1d)')
    .addOption(accountOption())
    .addOption(jsonOption())
    .action(async (givenId: unknown, given: unknown) => {
      const id = parseId(givenId);
      const { account, overlap: overlapMs, json } = parseFlags(rotateFlagsSchema, given);
      await withContext(async (context) => {
        const issue = { key: newApiKey(context.newId), createdAt: context.clock() };
        const act = context.actOf('keys rotate', 'api_key.rotate', { accountId: account, targetId: id });
        const { key, apiKey, former } = await withAdvice(
          'not_found',
          `See: hookferry-admin keys list --account ${account}`,
          context.apiKeys.rotate(account, id, issue, { overlapMs, act }),
        );
        const end = presentApiKey(former).expires_at;
        if (json) {
          const shown = { ...presentApiKey(apiKey), account_id: account, key, former_expires_at: end };
          return output.out(formatJson(shown));
        }
        output.error(
          `Key ${apiKey.id} takes the place of ${id}, which ends at ${String(end)}. This is the only time it is shown:\n`,
        );
        output.out(`${key}\n`);
      });
    });
}

const revokeFlagsSchema = z.object({
  account: accountIdSchema,
  last: z.boolean().default(false),
  json: jsonSchema,
});

export function addRevokeKey(keys: Command, { output, withContext }: Cli): void {
  keys
    .command('revoke')
    .description('Revoke a key. It is refused from the next request on, in every process.')
    .argument('<id>', 'the 16 characters after whk_')
    .addOption(accountOption())
    .option('--last', 'even if no other key of the account can issue keys')
    .addOption(jsonOption())
    .action(async (givenId: unknown, given: unknown) => {
      const id = parseId(givenId);
      const { account, last, json } = parseFlags(revokeFlagsSchema, given);
      await withContext(async (context) => {
        const revoked = context.apiKeys.revoke(account, id, {
          mayBeLast: last,
          act: context.actOf('keys revoke', 'api_key.revoke', { accountId: account, targetId: id }),
        });
        const listed = withAdvice(
          'not_found',
          `See: hookferry-admin keys list --account ${account}`,
          revoked,
        );
        await withAdvice('last_admin_key', 'To revoke it anyway, add --last.', listed);
        output.out(json ? formatJson({ id, account_id: account }) : `Revoked the key ${id}.\n`);
      });
    });
}

// The given text is not repeated, because it may be a whole key.
function parseId(given: unknown): string {
  const id = apiKeyIdSchema.safeParse(given).data;
  if (id === undefined) throw new UsageError('<id>: must be the 16 characters between whk_ and the next _');
  return id;
}
