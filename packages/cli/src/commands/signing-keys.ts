import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import type { Column } from '../output/output';
import type { SigningKey, SigningKeyPage } from '../resources';
import { addYes, type ConfirmFlags, requireYes } from './confirm';
import { addExample } from './example';

interface RotateFlags extends ConfirmFlags {
  readonly immediate?: boolean;
}

const COLUMNS: readonly Column<SigningKey>[] = [
  ['kid', ({ kid }) => kid],
  ['public key', ({ public_key }) => public_key],
  ['status', ({ status }) => status],
  ['signs from', ({ signing_starts_at }) => signing_starts_at],
  ['published until', ({ publishing_ends_at }) => publishing_ends_at],
];

export function addSigningKeys(program: Command, cli: Cli): void {
  const keys = program
    .command('signing-keys')
    .description('Keys for Ed25519 signatures (webhooks with --signing ed25519 or both).');
  const list = keys
    .command('list')
    .description('List the public keys, newest first.')
    .action(() => listSigningKeys(cli));
  addExample(list, 'hookferry signing-keys list');
  const rotate = keys
    .command('rotate')
    .description('Create a new key. It is published a day before it signs.')
    .option('--immediate', 'after a leak: the new key signs at once, and all others are removed')
    .action((flags: RotateFlags) => rotateSigningKey(flags, cli));
  addExample(addYes(rotate), 'hookferry signing-keys rotate --yes');
}

async function listSigningKeys(cli: Cli): Promise<void> {
  const client = await connect(cli);
  print(await client.GET('/v1/signing-keys'), cli);
}

async function rotateSigningKey(flags: RotateFlags, cli: Cli): Promise<void> {
  const question = flags.immediate
    ? 'Replace all keys by a new one? Receivers refuse deliveries until they have the new key.'
    : 'Create a new key? Receivers that keep a copy of the old key need the new one.';
  await requireYes(cli, flags, question);
  const client = await connect(cli);
  const body = flags.immediate ? { immediate: true } : {};
  print(await client.POST('/v1/signing-keys/rotate', { body }), cli);
}

function print({ data, jwks_path: path }: SigningKeyPage, { output }: Cli): void {
  output.list(data, COLUMNS, 'There are none: no webhook asks for one yet.');
  output.note(`Published at ${path}`);
}
