import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { UsageError } from '../../failures/usage-error';
import { parseId } from '../../input/parse-flags';
import { addExample } from '../example';
import { ENDPOINT_COLUMNS } from './endpoint-columns';
import { addEndpointFlags, type EndpointFlags, membersOf } from './endpoint-flags';
import { printWarnings } from './print-warnings';

interface UpdateFlags extends EndpointFlags {
  readonly url?: string;
}

export function addUpdateEndpoint(webhooks: Command, cli: Cli): void {
  const update = webhooks
    .command('update')
    .description('Change a webhook. Members that you leave out stay; null in --data removes one.')
    .argument('<id>', 'its id or uid', parseId)
    .option('--url <url>', 'the new URL')
    .action((id: string, flags: UpdateFlags) => updateEndpoint(id, flags, cli));
  addExample(
    addEndpointFlags(update),
    'hookferry webhooks update crm --events "order.*,invoice.paid"',
    `hookferry webhooks update crm --data '{"rate_limit":null}'`,
  );
}

async function updateEndpoint(id: string, flags: UpdateFlags, cli: Cli): Promise<void> {
  const members = await membersOf(flags, cli.prompt);
  const body = flags.url === undefined ? members : { ...members, url: flags.url };
  if (Object.keys(body).length === 0) {
    throw new UsageError('There is nothing to change.', 'Pass a flag such as --events, or --data.');
  }
  const client = await connect(cli);
  const updated = await client.PATCH('/v1/webhooks/{id}', { params: { path: { id } }, body });
  cli.output.document(updated, ENDPOINT_COLUMNS);
  printWarnings(cli.output, updated.warnings);
}
