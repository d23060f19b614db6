import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { addExample } from '../example';
import { HEALTH_COLUMNS } from './endpoint-columns';

export function addShowEndpoint(webhooks: Command, cli: Cli): void {
  const show = webhooks
    .command('show')
    .description('Show a webhook and its health.')
    .argument('<id>', 'its id or uid', parseId)
    .action((id: string) => showEndpoint(id, cli));
  addExample(show, 'hookferry webhooks show crm');
}

async function showEndpoint(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  cli.output.document(await client.GET('/v1/webhooks/{id}', { params: { path: { id } } }), HEALTH_COLUMNS);
}
