import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { CheckFailed } from '../failures/check-failed';
import { UsageError } from '../failures/usage-error';
import { parseId, parsePositive } from '../input/parse-flags';
import type { Prompt } from '../input/prompt';
import { readData } from '../input/read-data';
import type { Column } from '../output/output';
import type { TransformationTried, TransformationVersion } from '../resources';
import { addExample } from './example';

interface TryFlags {
  readonly webhook?: string;
  readonly code?: string;
  readonly type?: string;
  readonly data?: string;
  readonly event?: string;
}

interface PutFlags {
  readonly code: string;
  readonly disabled?: boolean;
}

export function addTransform(program: Command, cli: Cli): void {
  const transform = program
    .command('transform')
    .description('Code that makes the request body of a webhook from each event.');
  addTry(transform, cli);
  const put = transform
    .command('put')
    .description('Set the code of a webhook. Each change makes a new version.')
    .argument('<webhook>', 'its id or uid', parseId)
    .requiredOption('--code <file>', "the code, in JavaScript: a file, or '-' for stdin")
    .option('--disabled', 'keep the code, and send events without it')
    .action((webhook: string, flags: PutFlags) => putCode(webhook, flags, cli));
  addExample(put, 'hookferry transform put crm --code crm.js');
  const history = transform
    .command('history')
    .description("List the last versions of a webhook's code, the newest first.")
    .argument('<webhook>', 'its id or uid', parseId)
    .action((webhook: string) => listVersions(webhook, cli));
  addExample(history, 'hookferry transform history crm');
  const restore = transform
    .command('restore')
    .description('Go back to an earlier version. It becomes a new version.')
    .argument('<webhook>', 'its id or uid', parseId)
    .argument('<version>', 'the number of the version, from the list', parsePositive)
    .action((webhook: string, version: number) => restoreVersion(webhook, version, cli));
  addExample(restore, 'hookferry transform restore crm 3');
}

function addTry(transform: Command, cli: Cli): void {
  const tryOut = transform
    .command('try')
    .description("Try code on an event; by default the webhook's own code. Nothing is sent.")
    .option('--webhook <id>', 'use the code of this webhook: its id or uid', parseId)
    .option('--code <file>', "use this code instead: a file, or '-' for stdin")
    .option(
      '--type <type>',
      'on the example of this event type, or on an event of this type with --data',
      parseId,
    )
    .option('--data <json>', "the data of the event: JSON, @FILE, or '-' for stdin")
    .option('--event <id>', 'try it on this event of the account', parseId)
    .action((flags: TryFlags) => tryCode(flags, cli));
  addExample(
    tryOut,
    'hookferry transform try --code crm.js --type order.created',
    'hookferry transform try --webhook crm --event order-4711',
  );
}

async function tryCode({ webhook, code, ...on }: TryFlags, cli: Cli): Promise<void> {
  if (code === '-' && on.data === '-') {
    throw new UsageError(
      'Only one of --code and --data can be read from stdin.',
      'Use a file for the other.',
    );
  }
  const source = await sourceOf(on, cli.prompt);
  const text = code === undefined ? undefined : await readCode(code, cli.prompt);
  const client = await connect(cli);
  if (webhook !== undefined) {
    const params = { path: { id: webhook } };
    const body = { ...source, ...(text !== undefined && { code: text }) };
    show(await client.POST('/v1/webhooks/{id}/transformation/try', { params, body }), cli);
  } else if (text !== undefined) {
    show(await client.POST('/v1/transformations/try', { body: { ...source, code: text } }), cli);
  } else throw new UsageError('There is no code to try.', 'Pass --code FILE, --webhook ID, or both.');
}

async function sourceOf({ type, data, event }: TryFlags, prompt: Prompt) {
  if (event !== undefined && type === undefined && data === undefined) return { event_id: event };
  if (event !== undefined || type === undefined) {
    throw new UsageError('There is no event to try it on.', 'Pass --type, --type with --data, or --event.');
  }
  if (data === undefined) return { event_type: type };
  return { event: { type, data: (await readData(data, prompt)).value } };
}

/** @throws CheckFailed when the code failed, which was said already. */
function show(tried: TransformationTried, { output }: Cli): void {
  output.result(tried, describe(tried));
  if (!output.isJson) for (const line of tried.logs) output.note(`console.log: ${line}`);
  if (tried.outcome === 'failed') throw new CheckFailed();
}

function describe({ outcome, body, headers, error }: TransformationTried): string {
  if (outcome === 'cancelled') return 'Cancelled: nothing would be sent.';
  if (outcome === 'failed') {
    const { message = 'It failed.', line = null, column = null } = error ?? {};
    return line === null ? `Failed: ${message}` : `Failed at line ${line}, column ${column ?? 1}: ${message}`;
  }
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  return [...lines, ...(lines.length > 0 ? [''] : []), body ?? ''].join('\n');
}

async function putCode(webhook: string, { code, disabled = false }: PutFlags, cli: Cli): Promise<void> {
  const body = { code: await readCode(code, cli.prompt), enabled: !disabled };
  const client = await connect(cli);
  const put = await client.PUT('/v1/webhooks/{id}/transformation', {
    params: { path: { id: webhook } },
    body,
  });
  cli.output.result(put, `Version ${put.version}${disabled ? ', disabled' : ''}.`);
}

const COLUMNS: readonly Column<TransformationVersion>[] = [
  ['version', ({ version }) => version],
  ['saved', ({ saved_at: at }) => at],
  ['by', ({ saved_by: id, saved_by_name: name }) => name ?? id],
  ['bytes', ({ code }) => Buffer.byteLength(code)],
];

async function listVersions(webhook: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const params = { path: { id: webhook } };
  const { data } = await client.GET('/v1/webhooks/{id}/transformation/versions', { params });
  cli.output.list(data, COLUMNS, 'There are none.');
}

async function restoreVersion(webhook: string, version: number, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const restored = await client.POST('/v1/webhooks/{id}/transformation/versions/{version}/restore', {
    params: { path: { id: webhook, version } },
  });
  cli.output.result(restored, `Version ${restored.version} has the code of version ${version}.`);
}

async function readCode(given: string, prompt: Prompt): Promise<string> {
  if (given === '-') return await prompt.readInput('--code -');
  const path = given.replace(/^@/, '');
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${path} can't be read: ${(error as Error).message}`, 'Name a file: --code FILE');
  }
}
