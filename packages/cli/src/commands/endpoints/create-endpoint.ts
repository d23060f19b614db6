import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { UsageError } from '../../failures/usage-error';
import { addExample } from '../example';
import { ENDPOINT_COLUMNS } from './endpoint-columns';
import { addEndpointFlags, type EndpointFlags, membersOf } from './endpoint-flags';
import { printWarnings } from './print-warnings';

interface CreateFlags extends EndpointFlags {
  readonly disabled?: boolean;
  readonly secretStdin?: boolean;
}

export function addCreateEndpoint(webhooks: Command, cli: Cli): void {
  const create = webhooks
    .command('create')
    .description('Register a webhook, and print it with its secret.')
    .argument('<url>', 'the URL to deliver to')
    .option('--disabled', 'hold its deliveries until it is enabled')
    .option('--secret-stdin', 'read a secret of your own from stdin; otherwise one is made')
    .action((url: string, flags: CreateFlags) => createEndpoint(url, flags, cli));
  addExample(
    addEndpointFlags(create),
    'hookferry webhooks create https://example.com/hook --events "order.*"',
    `hookferry webhooks create https://example.com/hook --events "order.*" --filter '{"total":{"gte":100}}'`,
  );
}

async function createEndpoint(url: string, flags: CreateFlags, cli: Cli): Promise<void> {
  const { output, prompt } = cli;
  const { events, ...members } = await membersOf(flags, prompt);
  if (!isListOfTexts(events)) {
    throw new UsageError('The event types are missing.', 'Pass --events TYPES, or --events "*" for all.');
  }
  const secret = flags.secretStdin ? { secret: (await prompt.readInput('--secret-stdin')).trim() } : {};
  const status = flags.disabled ? { status: 'disabled' as const } : {};
  const client = await connect(cli);
  const created = await client.POST('/v1/webhooks', {
    body: { ...members, ...status, ...secret, url, events },
  });
  const columns = ENDPOINT_COLUMNS.filter(([, read]) => isSaid(read(created)));
  output.document(created, [...columns, ['secret', (webhook) => webhook.secret]]);
  printWarnings(output, created.warnings);
  output.note(`Try it out: hookferry webhooks test ${created.uid ?? created.id}`);
}

/** What a new webhook has no value of is no news. */
function isSaid(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
