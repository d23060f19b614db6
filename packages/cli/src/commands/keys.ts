import type { Client } from '@hookferry/client';
import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { UsageError } from '../failures/usage-error';
import { parseId, parseList } from '../input/parse-flags';
import { parseDuration } from '../input/parse-time';
import type { ApiKey } from '../resources';
import { addYes, type ConfirmFlags, requireYes } from './confirm';
import { addExample } from './example';
import { addPaging, type PagingFlags, pageSize, printPages } from './paging';

type Scope = ApiKey['scopes'][number];

// Those of the API's description: the compiler names one that is missing here.
const SCOPES = Object.keys({
  'webhooks:read': true,
  'webhooks:write': true,
  'events:write': true,
  'deliveries:read': true,
  'deliveries:write': true,
  'portal:write': true,
  'audit:read': true,
  'accounts:act': true,
  admin: true,
} satisfies Record<Scope, true>).join(', ');

interface CreateFlags {
  readonly name: string;
  readonly eventTypes?: readonly string[];
  readonly scopes: readonly string[];
  /** In milliseconds. */
  readonly expires?: number;
}

interface RevokeFlags extends ConfirmFlags {
  readonly last?: boolean;
}

export function addKeys(program: Command, cli: Cli): void {
  const keys = program.command('keys').description('API keys of the account.');
  const list = keys
    .command('list')
    .description('List the keys. Their secret parts are not shown.')
    .action((flags: PagingFlags) => listKeys(flags, cli));
  addExample(addPaging(list), 'hookferry keys list');
  addCreate(keys, cli);
  const revoke = keys
    .command('revoke')
    .description('Revoke a key, at once.')
    .argument('<key>', 'its name, or its id: the 16 characters after whk_', parseId)
    .option('--last', 'even if no other key of the account can issue keys')
    .action((key: string, flags: RevokeFlags) => revokeKey(key, flags, cli));
  addExample(addYes(revoke), 'hookferry keys revoke ci', 'hookferry keys revoke 51wne3srxh2b4xcn --yes');
}

function addCreate(keys: Command, cli: Cli): void {
  const create = keys
    .command('create')
    .description('Issue a key. It is printed on stdout, this once.')
    .requiredOption('--name <name>', 'a name for people')
    .requiredOption('--scopes <list>', `what it may do, separated by commas: ${SCOPES}`, parseList)
    .option(
      '--event-types <list>',
      'the only event types that it may publish, such as order.*,invoice.paid',
      parseList,
    )
    .option('--expires <duration>', 'how long it is valid, such as 90d (default: forever)', parseDuration)
    .action((flags: CreateFlags) => createKey(flags, cli));
  addExample(
    create,
    'hookferry keys create --name ci --scopes events:write --expires 90d > key.txt',
    "hookferry keys create --name backend --scopes accounts:act,events:write --event-types 'order.*' > key.txt",
  );
}

async function listKeys(flags: PagingFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  await printPages(cli, flags, {
    items: client.paginate('/v1/api-keys', { params: { query: { limit: pageSize(flags) } } }),
    columns: [
      ['id', ({ id }) => id],
      ['name', ({ name }) => name],
      ['scopes', ({ scopes }) => scopes],
      ['event types', ({ event_types }) => event_types],
      ['created', ({ created_at }) => created_at],
      ['expires', ({ expires_at }) => expires_at],
      ['last used', ({ last_used_at }) => last_used_at],
    ],
    ifNone: 'There are none.',
  });
}

async function createKey({ name, scopes, eventTypes, expires }: CreateFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const expiry = expires === undefined ? {} : { expires_at: new Date(Date.now() + expires).toISOString() };
  const limited = eventTypes === undefined ? {} : { event_types: [...eventTypes] };
  // A scope of a later version is for the API to judge.
  const body = { name, scopes: [...scopes] as Scope[], ...limited, ...expiry };
  const issued = await client.POST('/v1/api-keys', { body });
  cli.output.result(issued, issued.key);
  cli.output.note(`The key ${issued.id}. This is the only time that it is shown.`);
}

async function revokeKey(key: string, flags: RevokeFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const id = await findKeyId(client, key);
  const named = id === key ? id : `${id} (${key})`;
  await requireYes(cli, flags, `Revoke the key ${named}? Requests with it are refused at once.`);
  const query = flags.last ? { last: 'true' as const } : {};
  await client.DELETE('/v1/api-keys/{id}', { params: { path: { id }, query } });
  cli.output.result({ id, revoked: true }, `Revoked the key ${named}.`);
}

/** Names need not be unique. @throws UsageError when several keys have this one. */
async function findKeyId(client: Client, key: string): Promise<string> {
  const ids: string[] = [];
  for await (const { id, name } of client.paginate('/v1/api-keys', {})) {
    if (id === key) return id;
    if (name === key) ids.push(id);
  }
  if (ids.length > 1)
    throw new UsageError(`${ids.length} keys are called ${key}.`, `Name one by its id: ${ids.join(', ')}`);
  // What is no key's name is an id to the API, which says that there is none.
  return ids[0] ?? key;
}
