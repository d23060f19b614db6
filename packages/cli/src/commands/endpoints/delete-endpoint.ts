import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { addYes, type ConfirmFlags, requireYes } from '../confirm';
import { addExample } from '../example';

export function addDeleteEndpoint(webhooks: Command, cli: Cli): void {
  const remove = webhooks
    .command('delete')
    .description('Remove a webhook. Its waiting deliveries are cancelled.')
    .argument('<id>', 'its id or uid', parseId)
    .action((id: string, flags: ConfirmFlags) => deleteEndpoint(id, flags, cli));
  addExample(addYes(remove), 'hookferry webhooks delete crm --yes');
}

async function deleteEndpoint(id: string, flags: ConfirmFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const path = { params: { path: { id } } };
  if (!flags.yes) {
    const { url } = await client.GET('/v1/webhooks/{id}', path);
    await requireYes(cli, flags, `Delete the webhook ${id}, which delivers to ${url}?`);
  }
  await client.DELETE('/v1/webhooks/{id}', path);
  cli.output.result({ id, deleted: true }, `Deleted the webhook ${id}.`);
}
