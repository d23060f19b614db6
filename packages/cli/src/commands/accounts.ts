import { endpointSettings } from '@hookferry/core/domain/endpoint-settings';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Cli, connect } from '../cli';
import { UsageError } from '../failures/usage-error';
import { parseCount, parseId, parsePositive } from '../input/parse-flags';
import { paintStatus } from '../output/colours';
import type { Column } from '../output/output';
import type { Account } from '../resources';
import { addYes, type ConfirmFlags, requireYes } from './confirm';
import { addExample } from './example';
import { addPaging, type PagingFlags, pageSize, printPages } from './paging';

interface AccountFlags {
  readonly name?: string;
  readonly weight?: number;
  /** `none`: as much as any account. */
  readonly quotaBytes?: number | typeof NONE;
  /** `none`: as that of any account. */
  readonly historyRetention?: string;
  readonly defaultSigning?: Account['default_signing'];
  /** `none`: as that of any account. */
  readonly cloudeventsSource?: string;
  /** `none`: as the service has it. */
  readonly endpointVerification?: NonNullable<Account['endpoint_verification']> | typeof NONE;
}

interface PauseFlags {
  readonly reason?: string;
}

// Not `null`: the parser of the command line takes that for a value that is missing.
const NONE = 'none';

const COLUMNS: readonly Column<Account>[] = [
  ['id', ({ id }) => id],
  ['name', ({ name }) => name],
  ['weight', ({ weight }) => weight],
  ['quota bytes', ({ quota_bytes }) => quota_bytes],
  ['history', ({ history_retention }) => history_retention],
  ['default signing', ({ default_signing }) => default_signing],
  ['CloudEvents source', ({ cloudevents_source }) => cloudevents_source],
  ['verification', ({ endpoint_verification }) => endpoint_verification],
  ['status', ({ status, pause }) => (pause ? 'paused' : status), paintStatus],
  ['created', ({ created_at }) => created_at],
];

export function addAccounts(program: Command, cli: Cli): void {
  const accounts = program
    .command('accounts')
    .description(
      "Accounts of the service: with an operator's key. One with accounts:act may list, create, show.",
    );
  const list = accounts
    .command('list')
    .description('List accounts, the newest first.')
    .action((flags: PagingFlags) => listAccounts(flags, cli));
  addExample(addPaging(list), 'hookferry accounts list --all');
  const show = accounts
    .command('show')
    .description('Show an account. While it is being erased, also show how much is left.')
    .argument('<id>', 'its id', parseId)
    .action(async (id: string) => {
      const account = await (await connect(cli)).GET('/v1/accounts/{id}', { params: { path: { id } } });
      cli.output.document(account, [
        ...COLUMNS,
        ['pause', ({ pause }) => pause],
        ['erasure', ({ erasure }) => erasure],
      ]);
    });
  addExample(show, 'hookferry accounts show acme');
  addChanges(accounts, cli);
}

function addChanges(accounts: Command, cli: Cli): void {
  const create = accounts
    .command('create')
    .description('Create an account.')
    .argument('[id]', 'its id (default: a generated one)', parseId)
    .option('--name <name>', 'its name, for people')
    .action((id: string | undefined, flags: AccountFlags) => createAccount(id, flags, cli));
  addExample(addLimits(create), 'hookferry accounts create acme --name "Acme Ltd"');
  const update = accounts
    .command('update')
    .description('Change an account.')
    .argument('<id>', 'its id', parseId)
    .action((id: string, flags: AccountFlags) => updateAccount(id, flags, cli));
  addExample(addLimits(update), 'hookferry accounts update acme --weight 4');
  const pause = accounts
    .command('pause')
    .description('Pause the deliveries of an account. Its events are accepted, and its deliveries held.')
    .argument('<id>', 'its id', parseId)
    .option('--reason <text>', 'why, for other operators and the audit log')
    .action((id: string, flags: PauseFlags) => pauseAccount(id, flags, cli));
  addExample(pause, 'hookferry accounts pause acme --reason "Its receivers are down"');
  const resume = accounts
    .command('resume')
    .description('Resume the deliveries of an account, and send what was held.')
    .argument('<id>', 'its id', parseId)
    .action((id: string) => resumeAccount(id, cli));
  addExample(resume, 'hookferry accounts resume acme');
  const remove = accounts
    .command('delete')
    .description('Erase an account with everything that it owns. This cannot be undone.')
    .argument('<id>', 'its id', parseId)
    .action((id: string, flags: ConfirmFlags) => deleteAccount(id, flags, cli));
  addExample(addYes(remove), 'hookferry accounts delete acme --yes');
}

function addLimits(command: Command): Command {
  return command
    .option('--weight <n>', 'its share of the workers, 1 to 100', parsePositive)
    .option(
      '--quota-bytes <n>',
      'how many bytes it may store; 0: no limit; none: the default of the service',
      parseQuota,
    )
    .option(
      '--history-retention <time>',
      'how long its history is kept, such as 30d; none: the default of the service',
    )
    .addOption(
      new Option(
        '--default-signing <kind>',
        'how requests of new webhooks are signed: hmac, ed25519 (a key pair), or both',
      ).choices(endpointSettings.signing.choices),
    )
    .option('--cloudevents-source <uri>', 'the source of its CloudEvents; none: the default of the service')
    .addOption(
      new Option(
        '--endpoint-verification <kind>',
        'whether new webhooks have to be verified: off, required; none: the default of the service',
      ).choices(['off', 'required', NONE]),
    );
}

function parseQuota(text: string): number | typeof NONE {
  if (text === NONE) return NONE;
  if (/^\d+$/.test(text)) return parseCount(text);
  throw new InvalidArgumentError('It must be a number of bytes, or "none".');
}

async function listAccounts(flags: PagingFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  await printPages(cli, flags, {
    items: client.paginate('/v1/accounts', { params: { query: { limit: pageSize(flags) } } }),
    columns: COLUMNS,
    ifNone: 'There are none.',
  });
}

async function createAccount(id: string | undefined, flags: AccountFlags, cli: Cli) {
  const { name, weight, quotaBytes, historyRetention, defaultSigning, cloudeventsSource } = flags;
  const { endpointVerification } = flags;
  const client = await connect(cli);
  const body = {
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    ...(weight === undefined ? {} : { weight }),
    ...(typeof quotaBytes === 'number' && { quota_bytes: quotaBytes }),
    ...(historyRetention !== undefined &&
      historyRetention !== NONE && { history_retention: historyRetention }),
    ...(defaultSigning === undefined ? {} : { default_signing: defaultSigning }),
    ...(cloudeventsSource !== undefined &&
      cloudeventsSource !== NONE && { cloudevents_source: cloudeventsSource }),
    ...(endpointVerification !== undefined &&
      endpointVerification !== NONE && { endpoint_verification: endpointVerification }),
  };
  cli.output.document(await client.POST('/v1/accounts', { body }), COLUMNS);
}

async function updateAccount(id: string, flags: AccountFlags, cli: Cli): Promise<void> {
  const { weight, quotaBytes, historyRetention, defaultSigning, cloudeventsSource } = flags;
  const { endpointVerification } = flags;
  const limits = [weight, quotaBytes, historyRetention];
  const said = [...limits, defaultSigning, cloudeventsSource, endpointVerification];
  if (said.every((value) => value === undefined)) {
    throw new UsageError(
      'There is nothing to change.',
      'Pass --weight, --quota-bytes, --history-retention, --default-signing, --cloudevents-source or --endpoint-verification.',
    );
  }
  const client = await connect(cli);
  const body = {
    ...(weight === undefined ? {} : { weight }),
    ...(quotaBytes === undefined ? {} : { quota_bytes: quotaBytes === NONE ? null : quotaBytes }),
    ...(historyRetention === undefined
      ? {}
      : { history_retention: historyRetention === NONE ? null : historyRetention }),
    ...(defaultSigning === undefined ? {} : { default_signing: defaultSigning }),
    ...(cloudeventsSource === undefined
      ? {}
      : { cloudevents_source: cloudeventsSource === NONE ? null : cloudeventsSource }),
    ...(endpointVerification === undefined
      ? {}
      : { endpoint_verification: endpointVerification === NONE ? null : endpointVerification }),
  };
  const account = await client.PATCH('/v1/accounts/{id}', { params: { path: { id } }, body });
  cli.output.document(account, COLUMNS);
}

async function pauseAccount(id: string, { reason }: PauseFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const body = reason === undefined ? {} : { reason };
  const account = await client.POST('/v1/accounts/{id}/pause', { params: { path: { id } }, body });
  cli.output.result(account, `Disabled ${account.webhooks_changed} webhooks of the account ${id}.`);
  cli.output.note(`To go on: hookferry accounts resume ${id}`);
}

async function resumeAccount(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const account = await client.POST('/v1/accounts/{id}/resume', { params: { path: { id } } });
  cli.output.result(account, `Enabled ${account.webhooks_changed} webhooks of the account ${id}.`);
}

async function deleteAccount(id: string, flags: ConfirmFlags, cli: Cli): Promise<void> {
  await requireYes(
    cli,
    flags,
    `Erase the account ${id} with everything that it owns? This cannot be undone.`,
  );
  const client = await connect(cli);
  const account = await client.DELETE('/v1/accounts/{id}', { params: { path: { id } } });
  cli.output.result(account, `The account ${id} is being erased.`);
  cli.output.note(`See its progress: hookferry accounts show ${id}`);
}
